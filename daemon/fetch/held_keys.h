/*
 * held_keys.h - the secret headers that the daemon has handed over, in locked memory until it drops them.
 */
#pragma once

#include "base/list.h"
#include "base/slice.h"

#include <stdint.h>

struct held_key;

struct held_keys {
	struct list keys;
};

void held_keys_init(struct held_keys *k);
/* payload: as fetch_key_parse takes it. -EPROTO: it is none; -ENOMEM: no memory can be locked. */
int held_keys_add(struct held_keys *k, uint32_t number, struct slice payload);
void held_keys_drop(struct held_keys *k, uint32_t number);
void held_keys_done(struct held_keys *k);
/* "name: prefix value", NUL-terminated, in locked memory; NULL: there is no such key. */
const char *held_keys_line(const struct held_keys *k, uint32_t number);
