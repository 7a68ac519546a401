/*
 * err.c - fills struct err, and sanitizes untrusted text for one-line output.
 *
 * Every message passes err_flatten, because it can quote paths and output of harnesses, and log
 * lines and terminals read it. snprintf can cut a message inside a UTF-8 sequence; err_flatten
 * removes the incomplete sequence, so that JSON encoders never see it.
 */
#include "base/err.h"

#include <stdarg.h>

/* Bytes of the last character if it is incomplete, else 0. */
static size_t incomplete_tail(const char *s, size_t n)
{
	size_t have = 1;

	while (have <= n && have < 4 && ((unsigned char)s[n - have] & 0xc0) == 0x80)
		have++;
	if (have > n)
		return 0;
	switch ((unsigned char)s[n - have] >> 4) {
	case 0xc:
	case 0xd:
		return have < 2 ? have : 0;
	case 0xe:
		return have < 3 ? have : 0;
	case 0xf:
		return have < 4 ? have : 0;
	default:
		return 0;
	}
}

void err_flatten(char *s)
{
	size_t n = strlen(s);

	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
			s[i] = ' ';
	/* U+2028 and U+2029 end a line too */
	for (char *p = s; (p = strstr(p, "\xe2\x80")); p += 2)
		if (p[2] == '\xa8' || p[2] == '\xa9')
			memset(p, ' ', 3);
	s[n - incomplete_tail(s, n)] = '\0';
}

static void err_vset(struct err *e, int rpc, const char *reason, const char *fmt, va_list ap)
{
	if (!e)
		return;
	e->rpc = rpc;
	e->session[0] = e->scope[0] = '\0';
	snprintf(e->reason, sizeof(e->reason), "%s", reason);
	vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	err_flatten(e->msg);
}

int err_set(struct err *e, int code, int rpc, const char *reason, const char *fmt, ...)
{
	va_list ap;

	if (e)
		e->field[0] = '\0';
	va_start(ap, fmt);
	err_vset(e, rpc, reason, fmt, ap);
	va_end(ap);
	return code;
}

int err_field(struct err *e, const char *field, const char *reason, const char *fmt, ...)
{
	va_list ap;

	if (e)
		snprintf(e->field, sizeof(e->field), "%s", field);
	va_start(ap, fmt);
	err_vset(e, RPC_INVALID_PARAMS, reason, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static void cut_out(char *text, const char *what)
{
	size_t n = strlen(what);

	while ((text = strstr(text, what)))
		memmove(text, text + n, strlen(text + n) + 1);
}

void err_unprefix(struct err *e, const char *prefix)
{
	if (!e)
		return;
	cut_out(e->field, prefix);
	cut_out(e->msg, prefix);
}

void err_wrap(struct err *e, const char *fmt, ...)
{
	char head[ERR_MSG_SIZE], old[ERR_MSG_SIZE];
	va_list ap;

	if (!e)
		return;
	va_start(ap, fmt);
	vsnprintf(head, sizeof(head), fmt, ap);
	va_end(ap);
	memcpy(old, e->msg, sizeof(old));
	snprintf(e->msg, sizeof(e->msg), "%.120s: %.130s", head, old);
	err_flatten(e->msg);
}
