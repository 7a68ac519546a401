/*
 * held_keys.h - the secret headers that the daemon has handed over, in locked memory until it drops them; or in memory that is not
 * locked, where the machine locks none and the daemon lets them be there.
 */
#pragma once

#include "base/list.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct held_key;

struct held_keys {
	struct list keys;
	bool unlocked; /* memory that is not locked will do */
};

void held_keys_init(struct held_keys *k);
/* payload: as fetch_key_parse takes it. -EPROTO: it is none; -ENOMEM: no memory can be locked. */
int held_keys_add(struct held_keys *k, uint32_t number, struct slice payload);
void held_keys_drop(struct held_keys *k, uint32_t number);
void held_keys_done(struct held_keys *k);
/* "name: prefix value", NUL-terminated; NULL: there is no such key. */
const char *held_keys_line(const struct held_keys *k, uint32_t number);
