/*
 * agui_settings.h - what a thread's session is opened with: members of _meta.acpd, and those of session/new beside them,
 * given by the first run of the thread or by a profile. Later runs say the same, or nothing.
 */
#pragma once

#include "agui/agui_input.h"
#include "agui/agui_internal.h"

/* NAME of a profile: its text is appended. PROFILE_UNKNOWN, PROFILE_UNUSABLE. */
int agui_profile_read(const char *list, const char *name, struct buf *ret, struct err *e);
/* The thread's settings are those of the input, or of its profile; a new thread gets them. t->given has them then.
 * SETTINGS_FIXED, SETTINGS_REQUIRED, PARAM_UNSUPPORTED, FIELD_MISSING, and those above. */
int agui_settings_take(const struct agui *a, struct agui_thread *t, const struct agui_input *in,
		       bool new_thread, struct err *e);
/* params of session/new, and of session/load. */
void agui_settings_put_new(const struct agui_thread *t, bool front_end, struct slice trace,
			   struct buf *b);
void agui_settings_put_load(const struct agui_thread *t, const char *cwd, struct slice trace,
			    struct buf *b);
