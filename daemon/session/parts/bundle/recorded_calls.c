/*
 * recorded_calls.c - loads recorded model calls, and finds the one that matches a call of a rerun.
 *
 * Two keys per call. The shape (method, path, model, roles and types of messages) must be equal.
 * The text digest ignores every token with a digit and the working directory, since ids, dates,
 * ports and paths differ between runs. An exact digest wins over the first unused call of that
 * shape. Each call is used once. The recording is untrusted: a line that is not valid in the state
 * of its call, or exceeds RERUN_CALLS_MAX or RERUN_BYTES_MAX, ends the load.
 */
#include "session/parts/bundle/recorded_calls.h"

#include "base/limits.h"
#include "digest/base64.h"
#include "json/jdec.h"
#include "json/jstr.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- what two calls have in common -------------------------------------------------------------------------- */

static void put_raw(struct buf *b, const char *name, struct jval v)
{
	if (v.type == J_NONE)
		return;
	buf_printf(b, " %s=", name);
	buf_add_slice(b, v.raw);
}

static void put_messages(struct buf *b, struct jval messages)
{
	jarr_each(v, messages) {
		buf_puts(b, " -");
		put_raw(b, "role", jobj_get(v.raw, "role"));
		put_raw(b, "type", jobj_get(v.raw, "type"));
	}
}

/* Of all APIs: where their requests have messages. */
static const char *const message_members[] = { "messages", "input", "contents" };

/* The query of the path does not count. The caller frees. */
static char *shape_of(const char *method, const char *path, struct slice body)
{
	struct buf b = { 0 };

	buf_printf(&b, "%s %.*s", method, (int)strcspn(path, "?"), path);
	put_raw(&b, "model", jobj_get(body, "model"));
	put_raw(&b, "stream", jobj_get(body, "stream"));
	buf_printf(&b, " tools=%zu", jarr_length(jobj_get(body, "tools")));
	for (size_t i = 0; i < ARRAY_SIZE(message_members); i++)
		put_messages(&b, jobj_get(body, message_members[i]));
	buf_putc(&b, '\0');
	return b.data;
}

static bool is_call_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == ':' || c == '.';
}

/* Ids, dates, numbers, ports. */
static bool has_digit(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (isdigit((unsigned char)p[i]))
			return true;
	return false;
}

static bool starts_with(const char *p, const char *end, const char *what)
{
	size_t n = strlen(what);

	return n && (size_t)(end - p) >= n && memcmp(p, what, n) == 0;
}

/* A digest of what stays equal in a request's text when a run is repeated elsewhere and later. Words are compared whole: one
 * digit anywhere in a word replaces all of it, and the working directory becomes "/". */
static struct sha256 words_of(struct slice body, const char *cwd)
{
	const char *p = body.p, *end = body.p + body.n;
	struct sha256_stream s;
	struct sha256 ret;

	sha256_begin(&s);
	while (p < end) {
		size_t n = 1;

		if (starts_with(p, end, cwd)) {
			sha256_add(&s, "/", 1);
			p += strlen(cwd);
			continue;
		}
		if (is_call_word_char(*p))
			while (p + n < end && is_call_word_char(p[n]))
				n++;
		if (has_digit(p, n))
			sha256_add(&s, "#", 1);
		else
			sha256_add(&s, p, n);
		p += n;
	}
	sha256_end(&s, &ret);
	return ret;
}

/* --- the file ------------------------------------------------------------------------------------------------ */

static struct recorded_call *find_recorded_call(const struct recorded_calls *r, const char *id)
{
	list_each(c, (struct list *)&r->calls, struct recorded_call, link)
		if (strcmp(c->id, id) == 0)
			return c;
	return NULL;
}

/* A second request of the same id is refused: the lines after it could not be told apart. */
static int recorded_take_request(struct recorded_calls *r, const char *id, struct slice line,
				 const char *cwd)
{
	_cleanup_(freep) char *api = NULL, *method = NULL, *path = NULL;
	_cleanup_(buf_done) struct buf body = { .max = MODEL_BODY_MAX };
	struct recorded_call *c = find_recorded_call(r, id);
	struct jval text = jobj_get(line, "body");

	if (jstr_decode(jobj_get(line, "api"), 64, &api) < 0 ||
	    jstr_decode(jobj_get(line, "method"), 16, &method) < 0 ||
	    jstr_decode(jobj_get(line, "path"), MODEL_HEAD_MAX, &path) < 0 ||
	    (text.type != J_NONE && jstr_decode_bytes(text, &body) < 0) || c)
		return -EINVAL;
	if (r->n == RERUN_CALLS_MAX)
		return -E2BIG;
	c = new0(struct recorded_call);
	c->id = xstrdup(id);
	c->api = TAKE_PTR(api);
	c->shape = shape_of(method, path, buf_slice(&body));
	c->words = words_of(buf_slice(&body), cwd);
	c->answer.max = BUF_MAX_DEFAULT;
	list_add_tail(&r->calls, &c->link);
	r->n++;
	return 0;
}

static int recorded_take_head(struct recorded_call *c, struct slice line)
{
	struct jval headers = jobj_get(line, "headers");
	uint64_t status = jobj_uint(line, "status");

	if (status < 100 || status > 599 || headers.type != J_OBJECT)
		return -EINVAL;
	c->status = (unsigned)status;
	c->headers = xstrndup(headers.raw.p, headers.raw.n);
	return 0;
}

/* A piece of the answer: text, or base64 where it is not valid text. */
static int recorded_take_data(struct recorded_call *c, struct slice line)
{
	_cleanup_(buf_done) struct buf text = { .max = BUF_MAX_DEFAULT };
	struct jval b64 = jobj_get(line, "b64");

	if (b64.type == J_NONE)
		return jstr_decode_bytes(jobj_get(line, "text"), &c->answer);
	if (jstr_decode_bytes(b64, &text) < 0)
		return -EINVAL;
	return base64_decode(buf_slice(&text), &c->answer);
}

static int recorded_take_end(struct recorded_call *c, struct slice line)
{
	static const struct {
		const char *how;
		enum recorded_end end;
	} ends[] = { { "complete", RECORDED_COMPLETE },
		     { "failed", RECORDED_FAILED },
		     { "cancelled", RECORDED_CANCELLED } };

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (jstr_is(jobj_get(line, "how"), ends[i].how))
			c->end = ends[i].end;
	jstr_decode(jobj_get(line, "reason"), 64, &c->reason);
	return c->end == RECORDED_OPEN ? -EINVAL : 0;
}

/* The states of a call that has not ended: no status has been read, or one has. */
enum { ASKED = 1, ANSWERED = 2 };

static const struct {
	const char *type;
	int when;						 /* of a call that has not ended */
	int (*take)(struct recorded_call *c, struct slice line); /* NULL: nothing to store */
} types[] = {
	/* A retry of the request: whichever upstream answers, the harness gets one answer. */
	{ "again", ASKED, NULL },
	{ "head", ASKED, recorded_take_head },
	{ "data", ANSWERED, recorded_take_data },
	{ "end", ASKED | ANSWERED, recorded_take_end },
};

static int recorded_take_more(struct recorded_call *c, struct jval type, struct slice line)
{
	/* 0: nothing may follow the end of a call. */
	int now = c->end != RECORDED_OPEN ? 0 : c->status ? ANSWERED : ASKED;

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (jstr_is(type, types[i].type) && (types[i].when & now))
			return types[i].take ? types[i].take(c, line) : 0;
	return -EINVAL;
}

static int recorded_take_stopped(struct recorded_calls *r, struct slice line)
{
	return r->stopped || jstr_decode(jobj_get(line, "reason"), 64, &r->stopped) < 0 ? -EINVAL :
											  0;
}

void recorded_calls_init(struct recorded_calls *r)
{
	*r = (struct recorded_calls){ 0 };
	list_init(&r->calls);
}

int recorded_calls_add(struct recorded_calls *r, struct slice line, const char *cwd)
{
	_cleanup_(freep) char *id = NULL;
	struct jval v, type;
	struct recorded_call *c;

	if (jscan_value(line, &v) != JSCAN_OK || v.type != J_OBJECT)
		return -EINVAL;
	type = jobj_get(v.raw, "type");
	if (jstr_is(type, "stopped"))
		return recorded_take_stopped(r, v.raw);
	if (jstr_decode(jobj_get(v.raw, "call"), RPC_ID_MAX, &id) < 0)
		return -EINVAL;
	if (jstr_is(type, "request"))
		return recorded_take_request(r, id, v.raw, cwd);
	c = find_recorded_call(r, id);
	return c ? recorded_take_more(c, type, v.raw) : -EINVAL;
}

static int read_recorded_lines(struct recorded_calls *r, FILE *f, const char *cwd, size_t *line_no)
{
	_cleanup_(freep) char *line = NULL;
	size_t size = 0;
	ssize_t n;
	int ret = 0;

	while (ret == 0 && (n = getline(&line, &size, f)) > 0) {
		(*line_no)++;
		ret = recorded_calls_add(
			r, (struct slice){ line, (size_t)n - (line[n - 1] == '\n') }, cwd);
	}
	return ret;
}

int recorded_calls_read(struct recorded_calls *r, const char *path, const char *cwd, struct err *e)
{
	FILE *f = fopen(path, "re");
	struct stat sb;
	size_t line = 0;
	int ret;

	recorded_calls_init(r);
	if (!f)
		return err_set(
			e, -errno, 0, "NOT_RECORDED",
			"the bundle has no model calls: its daemon ran without --record-model");
	/* All of it is held in memory until the rerun ends. */
	if (fstat(fileno(f), &sb) < 0 || (uint64_t)sb.st_size > RERUN_BYTES_MAX)
		ret = -E2BIG;
	else
		ret = read_recorded_lines(r, f, cwd, &line);
	fclose(f);
	if (ret == -E2BIG)
		return err_set(e, ret, 0, "TOO_LARGE",
			       "model/calls.ndjson has more than %d calls or %d MiB",
			       RERUN_CALLS_MAX, (int)(RERUN_BYTES_MAX / MIB));
	return ret < 0 ? err_set(e, -EINVAL, 0, "BUNDLE_INVALID", "model/calls.ndjson, line %zu",
				 line) :
			 0;
}

void recorded_calls_done(struct recorded_calls *r)
{
	/* next NULL: never initialized. */
	while (r->calls.next && !list_empty(&r->calls)) {
		struct recorded_call *c = list_first(&r->calls, struct recorded_call, link);

		list_del(&c->link);
		buf_done(&c->answer);
		free_each(c->id, c->api, c->shape, c->reason, c->headers, c);
	}
	free(TAKE_PTR(r->stopped));
}

/* --- which one is meant -------------------------------------------------------------------------------------- */

struct recorded_match recorded_calls_take(struct recorded_calls *r, const char *method,
					  const char *path, struct slice body, const char *cwd)
{
	_cleanup_(freep) char *shape = shape_of(method, path, body);
	struct sha256 words = words_of(body, cwd);
	struct recorded_match m = { 0 };

	/* The first of that shape, unless an exact one follows: the order of a run is mostly the recorded order. */
	list_each(c, &r->calls, struct recorded_call, link) {
		if (c->asked || strcmp(c->shape, shape) != 0)
			continue;
		m.exact = sha256_equal(&c->words, &words);
		if (m.exact || !m.call)
			m.call = c;
		if (m.exact)
			break;
	}
	if (m.call)
		m.call->asked = true;
	return m;
}
