/* session_mask.c - the secrets of a session in text that leaves it: in JSON by the tables of event_fields.h, in lines,
 * in files. */
#include "session/core/session_internal.h"

#include "base/os/file.h"
#include "base/limits.h"
#include "session/core/redact/redact_internal.h"

struct slice session_mask_json(const struct session *s, struct slice json, bool members,
			       const struct event_field *table, struct buf *b)
{
	/* The usual case copies nothing. */
	if (!mask_hits(s->redact.known.mask, json))
		return json;
	event_fields_mask(s->redact.known.mask, json, members, table, b);
	return buf_slice(b);
}

void session_mask_line(const struct session *s, char *text, size_t size)
{
	mask_line(s->redact.known.mask, text, size);
}

void session_mask_string(const struct session *s, char **text)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	if (!*text || !mask_find(s->redact.known.mask, slice_of(*text)))
		return;
	mask_put(s->redact.known.mask, slice_of(*text), false, 0, NULL, &b);
	free(*text);
	*text = xstrndup(buf_slice(&b).p, buf_len(&b));
}

struct err session_mask_err(const struct session *s, const struct err *e)
{
	struct err own = *e;

	session_mask_line(s, own.msg, sizeof(own.msg));
	return own;
}

void session_mask_bytes(const struct session *s, struct buf *b)
{
	struct buf hidden = { .max = SIZE_MAX / 2 };

	if (!mask_find(s->redact.known.mask, buf_slice(b)))
		return;
	mask_put(s->redact.known.mask, buf_slice(b), false, 0, NULL, &hidden);
	hidden.max = b->max;
	buf_done(b);
	*b = hidden;
}

/* What is left of a secret that was cut in two ends before the middle: no secret is as long as half of it. */
void session_mask_rest(const struct session *s, struct buf *b, bool cut)
{
	struct buf first = { .max = SIZE_MAX / 2 }, last = { .max = SIZE_MAX / 2 };
	struct slice whole = buf_slice(b);
	size_t half = whole.n / 2, tail = 0;

	if (!cut || !s->redact.known.mask) {
		session_mask_bytes(s, b);
		return;
	}
	/* The first half is searched with a tail, so that a secret across the middle is found in the second. */
	mask_put(s->redact.known.mask, (struct slice){ whole.p, half }, false, 0, &tail, &first);
	mask_put(s->redact.known.mask, slice_after(whole, tail), false, 0, NULL, &last);
	buf_done(&first);
	last.max = b->max;
	buf_done(b);
	*b = last;
}

/* A piece at a time; what may be the beginning of a secret waits for the next. */
static int copy_masked(const struct mask *m, int from, int to)
{
	_cleanup_(buf_done) struct buf in = { .max = 4 * MIB }, out = { .max = 4 * MIB };
	ssize_t n = 1;
	int r = 0;

	while (r == 0 && n > 0) {
		size_t tail;

		if (buf_reserve(&in, FILE_PIECE) < 0)
			return -ENOMEM;
		n = read(from, in.data + in.len, FILE_PIECE);
		if (n < 0)
			return -errno;
		in.len += (size_t)n;
		buf_reset(&out);
		mask_put(m, buf_slice(&in), false, 0, n ? &tail : NULL, &out);
		buf_consume(&in, n ? tail : buf_len(&in));
		r = out.failed ? -E2BIG : file_write_all(to, buf_slice(&out).p, buf_len(&out));
	}
	return r;
}

int session_mask_file(const struct session *s, const char *path)
{
	_cleanup_(freep) char *copy = NULL;
	_cleanup_(closep) int from = -1, to = -1;
	int r;

	if (!s->redact.known.mask)
		return 0;
	copy = xprintf("%s.hidden", path);
	from = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	/* Next to the file, so that rename replaces it in one step. */
	to = open(copy, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (from < 0 || to < 0)
		return -errno;
	r = copy_masked(s->redact.known.mask, from, to);
	if (r == 0 && rename(copy, path) < 0)
		r = -errno;
	if (r < 0)
		unlink(copy);
	return r;
}
