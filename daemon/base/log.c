/*
 * log.c - one log record is one write(2) of one JSON line to standard error.
 *
 * Threads log without a lock: each call builds its line in a buffer of its own and writes it at
 * once. It is best effort, so a failed or short write is ignored. Values are escaped byte by byte,
 * so that text of a harness cannot forge a line or steer a terminal.
 *
 * The tap copies records to the telemetry exporter. It runs only on the thread that installed it,
 * and not for records that it logs itself, which would recurse.
 */
#include "base/log.h"

#include "base/buf.h"
#include "base/clock.h"

#include <pthread.h>

#define LOG_STRING_MAX 8192 /* of one value; the rest is cut off */

static enum log_level current = LOG_INFO;
static const char *const names[] = { "error", "warn", "info", "debug" };

void log_set_level(enum log_level level)
{
	current = level;
}

enum log_level log_get_level(void)
{
	return current;
}

int log_level_parse(const char *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(s, names[i]) == 0)
			return (int)i;
	return -1;
}

/* Own escaper: base/ may not use json/. Bytes outside printable ASCII are shown as \u00XX. */
static void log_string(struct buf *b, const char *s)
{
	const char *end = s + strnlen(s, LOG_STRING_MAX);

	buf_putc(b, '"');
	for (; s < end; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			buf_printf(b, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			buf_printf(b, "\\u%04x", c);
		else
			buf_putc(b, (char)c);
	}
	buf_putc(b, '"');
}

static void log_put_pair(struct buf *b, const char *key, const char *value)
{
	buf_putc(b, ',');
	log_string(b, key);
	buf_putc(b, ':');
	log_string(b, value ? value : "");
}

/* --- whoever else takes lines ------------------------------------------------------------------------------ */

#define TAP_PAIRS_MAX 24

static struct {
	void (*fn)(void *ctx, const struct log_line *line);
	void *ctx;
	pthread_t thread;
	bool busy;
} tap;

void log_tap(void (*fn)(void *ctx, const struct log_line *line), void *ctx)
{
	tap.fn = fn;
	tap.ctx = ctx;
	tap.thread = pthread_self();
}

static size_t take_pairs(const char **pairs, const char *const *first, va_list ap)
{
	const char *key;
	size_t n = 0;

	for (; *first && n < TAP_PAIRS_MAX; first += 2, n++) {
		pairs[2 * n] = first[0];
		pairs[2 * n + 1] = first[1];
	}
	for (; n < TAP_PAIRS_MAX && (key = va_arg(ap, const char *)); n++) {
		pairs[2 * n] = key;
		pairs[2 * n + 1] = va_arg(ap, const char *);
	}
	return n;
}

static void tell_tap(struct log_line *line, const char *const *first, va_list ap)
{
	const char *pairs[2 * TAP_PAIRS_MAX];

	if (!tap.fn || tap.busy || !pthread_equal(tap.thread, pthread_self()))
		return;
	line->n = take_pairs(pairs, first, ap);
	line->pairs = pairs;
	tap.busy = true;
	tap.fn(tap.ctx, line);
	tap.busy = false;
}

void log_vwrite(enum log_level level, const char *mod, const char *msg, const char *const *first,
		va_list ap)
{
	_cleanup_(buf_done) struct buf b = { .max = 1024 * 1024 };
	const char *key;
	va_list again;

	if (level > current)
		return;
	/* Both readers walk over the pairs, and a va_list can be walked over once. */
	va_copy(again, ap);
	tell_tap(&(struct log_line){ level, mod, msg, NULL, 0 }, first, again);
	va_end(again);
	buf_printf(&b, "{\"t\":\"%s\",\"level\":\"%s\",\"mod\":\"%s\",\"msg\":",
		   CLOCK_ISO(clock_real_ms()), names[level], mod);
	log_string(&b, msg);
	for (; *first; first += 2)
		log_put_pair(&b, first[0], first[1]);
	while ((key = va_arg(ap, const char *)))
		log_put_pair(&b, key, va_arg(ap, const char *));
	buf_puts(&b, "}\n");
	if (write(STDERR_FILENO, b.data, b.len) < 0)
		return; /* the log itself cannot be written */
}

void log_write(enum log_level level, const char *mod, const char *msg, ...)
{
	static const char *const none[] = { NULL };
	va_list ap;

	va_start(ap, msg);
	log_vwrite(level, mod, msg, none, ap);
	va_end(ap);
}
