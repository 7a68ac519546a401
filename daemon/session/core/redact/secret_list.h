/*
 * secret_list.h - the list of struct secrets, for secrets.c: values that are hidden, the oldest first. Pure.
 *
 * What is forgotten is wiped. Nothing is hidden by a change of the list before secret_list_rebuild.
 */
#pragma once

#include "session/core/redact/secrets.h"

void secret_list_forget(struct secrets *x, size_t i);
void secret_list_keep(struct secrets *x, struct slice v, bool old);
/* No copy of it: the list is one owner more. */
void secret_list_keep_locked(struct secrets *x, struct locked_text *t, bool old);
/* What another list has; it is old here. */
void secret_list_keep_again(struct secrets *x, const struct secret *of);
/* Room for n bytes: of those that are in force no more the oldest go. */
void secret_list_make_room(struct secrets *x, size_t n);
/* The mask of what is in the list now. */
void secret_list_rebuild(struct secrets *x);
