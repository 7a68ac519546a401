/*
 * log.h - JSON lines on stderr: time, level, module, message, then key/value pairs.
 *
 * Libraries (base, json, loop, proc) do not log; a fact is logged once, where it is handled. Text that
 * came from a child or peer is escaped. Never pass a token or key here.
 */
#pragma once

#include "base/util.h"

#include <stdarg.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

void log_set_level(enum log_level level);
enum log_level log_get_level(void);
/* "error", "warn", "info", "debug" -> level; -1 if unknown. */
int log_level_parse(const char *s);

/* Pairs: const char *key, const char *value, ..., NULL. */
void log_write(enum log_level level, const char *mod, const char *msg, ...)
	__attribute__((sentinel));

/* first: pairs that stand before those of ap, ended by NULL. */
void log_vwrite(enum log_level level, const char *mod, const char *msg, const char *const *first,
		va_list ap);

/* A line, for whoever takes lines elsewhere too: n pairs of key and value. Borrowed for the call. */
struct log_line {
	enum log_level level;
	const char *mod, *msg;
	const char *const *pairs;
	size_t n;
};

/* fn gets each line that the calling thread writes, of the level that is printed; NULL: nobody does. What fn itself logs it
 * does not get. */
void log_tap(void (*fn)(void *ctx, const struct log_line *line), void *ctx);

#define log_error(mod, ...) log_write(LOG_ERROR, mod, __VA_ARGS__, NULL)
#define log_warn(mod, ...) log_write(LOG_WARN, mod, __VA_ARGS__, NULL)
#define log_info(mod, ...) log_write(LOG_INFO, mod, __VA_ARGS__, NULL)
#define log_debug(mod, ...)                                                                        \
	do {                                                                                       \
		if (log_get_level() >= LOG_DEBUG)                                                  \
			log_write(LOG_DEBUG, mod, __VA_ARGS__, NULL);                              \
	} while (0)
