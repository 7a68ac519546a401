/*
 * level.h - the levels of confinement, from none to most: open, guarded, strict. A higher level holds all that a lower
 * one does, so levels can be compared with < and >.
 */
#pragma once

enum confine_level { LEVEL_OPEN, LEVEL_GUARDED, LEVEL_STRICT, LEVEL_MAX };

/* All names in one string, for messages. */
#define LEVEL_NAMES "open, guarded or strict"

const char *level_name(enum confine_level level);
/* 0, or -EINVAL: no level has this name. */
int level_parse(const char *name, enum confine_level *ret);
