/*
 * answer_pass.c - rewrites the head of an answer for the client and finds the end of its body.
 *
 * Heads are buffered up to EGRESS_ANSWER_MAX. Interim heads pass unchanged; the final one loses the
 * fields of the hop, with their continuation lines. Nothing is read from the client after its
 * request, so the answer gets "Connection: close". A body whose framing is broken passes until the
 * server closes.
 */
#include "proxy/proxy.h"

#include "base/format/digits.h"
#include "base/http/http_fields.h"
#include "base/limits.h"

/* "HTTP/1.1 200 ..." */
static int answer_pass_status_of(struct slice line)
{
	uint64_t status, minor;

	if (!slice_skip(&line, "HTTP/1.") || u64_take(&line, 1, &minor) != 1 ||
	    !slice_skip(&line, " ") || u64_take(&line, 3, &status) != 3 || status < 100)
		return -EPROTO;
	return (int)status;
}

/* A name before a colon; a line that begins with a blank belongs to the one before. */
static bool answer_pass_is_ours(struct slice fields, struct slice line)
{
	struct slice name = { line.p, 0 };

	slice_cut(&line, ':', &name);
	while (name.n && (name.p[name.n - 1] == ' ' || name.p[name.n - 1] == '\t'))
		name.n--;
	return proxy_field_is_ours(fields, name);
}

static void put_final(struct slice head, struct buf *to)
{
	struct slice lines = head, fields, line;
	bool dropped = false;

	http_line_next(&lines, &line);
	buf_add_slice(to, line);
	buf_puts(to, "\r\n");
	fields = lines;
	while (http_line_next(&lines, &line)) {
		if (!line.n || (line.p[0] != ' ' && line.p[0] != '\t'))
			dropped = answer_pass_is_ours(fields, line);
		if (dropped)
			continue;
		buf_add_slice(to, line);
		buf_puts(to, "\r\n");
	}
	buf_puts(to, "Connection: close\r\n\r\n");
}

static void answer_pass_begin_body(struct answer_pass *a, struct slice head)
{
	struct http_head h;

	a->body.end = HTTP_BODY_CLOSE;
	if (!a->switched && http_head_parse(head, &h) > 0)
		http_body_begin(&a->body, &h, a->to_head);
}

/* One head off the front of a->head. 1: it was taken; 0: more has to come. */
static int pass_head(struct answer_pass *a, struct buf *to)
{
	struct slice in = buf_slice(&a->head);
	ssize_t n = http_lines_end(in, EGRESS_ANSWER_MAX);
	int status;

	if (n == 0 && in.n >= 5 && !slice_starts(in, "HTTP/"))
		return -EPROTO;
	if (n <= 0)
		return n < 0 ? -EPROTO : 0;
	status = answer_pass_status_of((struct slice){ in.p, (size_t)n });
	if (status < 0 || (status == 101 && !a->may_switch))
		return -EPROTO;
	a->switched = status == 101;
	a->over = a->switched || status >= 200;
	if (a->over && !a->switched)
		put_final((struct slice){ in.p, (size_t)n }, to);
	else
		buf_add(to, in.p, (size_t)n + 2);
	if (a->over)
		answer_pass_begin_body(a, (struct slice){ in.p, (size_t)n + 2 });
	buf_consume(&a->head, (size_t)n + 2);
	return 1;
}

static int answer_pass_body(struct answer_pass *a, struct slice in, struct buf *to)
{
	struct slice part;

	if (http_body_part(&a->body, in, &part) < 0) {
		a->body.end = HTTP_BODY_CLOSE;
		part = in;
	}
	a->whole = http_body_has_ended(&a->body);
	return buf_add_slice(to, part);
}

bool answer_pass_is_open(const struct answer_pass *a)
{
	return a->over && a->body.end == HTTP_BODY_CLOSE;
}

int answer_pass_feed(struct answer_pass *a, struct slice in, struct buf *to)
{
	size_t before = buf_len(&a->head);
	int r = 1;

	if (a->over)
		return answer_pass_body(a, in, to);
	if (buf_add_slice(&a->head, in) < 0)
		return -EPROTO;
	/* The first bytes are judged at once: they may be no head. */
	if (before > 5 && !proxy_head_may_end(buf_slice(&a->head), before, EGRESS_ANSWER_MAX))
		return 0;
	while (r > 0 && !a->over)
		r = pass_head(a, to);
	if (!a->over)
		return r;
	r = answer_pass_body(a, buf_slice(&a->head), to);
	buf_done(&a->head);
	return r;
}

void answer_pass_done(struct answer_pass *a)
{
	buf_done(&a->head);
}
