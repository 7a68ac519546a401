/*
 * refusal.c - the text of a refusal: a printable detail, the errno name, and the smallest setting
 * that would allow it.
 *
 * The confined process chooses the bytes of a detail, and logs and users read them. Control
 * characters and bytes that are not UTF-8 therefore become "?". The rules are settings that a user
 * can write: a level, a directory, a network entry.
 */
#include "confine/watch/refusal.h"

#include "base/format/utf8.h"

#include <errno.h>

#define FIRST_PRINTABLE 0x20
#define DELETE 0x7f

void refusal_set_detail(struct refusal *r, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t left = strlen(text), at = 0;

	while (left > 0) {
		size_t n = *p < 0x80 ? 1 : utf8_sequence(p, left);
		bool plain = n > 1 || (n == 1 && *p >= FIRST_PRINTABLE && *p != DELETE);

		n = n ? n : 1;
		if (at + n >= sizeof(r->detail))
			break;
		if (plain)
			memcpy(r->detail + at, p, n);
		else
			r->detail[at] = '?';
		at += n;
		p += n;
		left -= n;
	}
	r->detail[at] = '\0';
}

const char *refusal_errno(const struct refusal *r)
{
	const char *name = strerrorname_np(r->error);

	return name ? name : "EUNKNOWN";
}

const char *refusal_why(const struct refusal *r)
{
	return r->row ? r->row->why : NULL;
}

/* --- rules ---------------------------------------------------------------------------------------------------- */

/* ENOSYS is what an older kernel says, and programs know that kernel. */
bool refusal_is_harmless(const struct refusal *r)
{
	return r->kind == REFUSED_CALL && r->error == ENOSYS;
}

static void put_call_rule(const struct refusal *r, struct buf *b)
{
	if (refusal_is_harmless(r))
		buf_puts(b, "nothing to do: programs take another way");
	else if (r->row->flat)
		buf_puts(b, "level guarded");
	else
		buf_puts(b, "none but level open");
}

/* All but the last part of a path. */
static size_t directory_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !slash ? 0 : slash == path ? 1 : (size_t)(slash - path);
}

static void put_write_rule(const struct refusal *r, struct buf *b)
{
	buf_puts(
		b,
		"a variable of env that moves it below HOME or TMPDIR, or additionalDirectories [\"");
	buf_add(b, r->detail, directory_length(r->detail));
	buf_puts(b, "\"]");
}

static void put_host_rule(const struct refusal *r, struct buf *b)
{
	const char *colon = strrchr(r->detail, ':');
	size_t n = colon ? (size_t)(colon - r->detail) : strlen(r->detail);
	bool v6 = n > 2 && r->detail[0] == '[';

	if (colon && strcmp(colon, ":53") == 0) {
		buf_puts(
			b,
			"none: the proxy resolves names (HTTPS_PROXY); name the host in network.allow");
		return;
	}
	buf_puts(b, "network {\"mode\": \"allowlist\", \"allow\": [{\"host\": \"");
	buf_add(b, r->detail + v6, n - 2 * (size_t)v6);
	buf_printf(b, "\", \"ports\": [%s]}]}, and the proxy (HTTPS_PROXY)",
		   colon ? colon + 1 : "");
}

void refusal_put_rule(const struct refusal *r, struct buf *b)
{
	static void (*const put[])(const struct refusal *r, struct buf *b) = {
		[REFUSED_CALL] = put_call_rule,
		[REFUSED_WRITE] = put_write_rule,
		[REFUSED_HOST] = put_host_rule,
	};

	put[r->kind](r, b);
}
