/*
 * route_usage.c - GET /v1/usage: the usage ledger's records after a number, as lines or as one object.
 *
 * Asking for records after a number confirms those before it, and confirmed files may be removed. Therefore a client that sees
 * a part only, by ?session, by the sessions of its token or by the scope observe, confirms nothing. The newest record at the
 * time of the request is the end, so that a busy daemon does not keep the answer open. `seen` bounds the lines that one fill
 * reads, since a filter can skip all of them.
 */
#include "http/routes/handlers.h"

#include "base/limits.h"
#include "json/jstr.h"
#include "usage/ledger/ledger.h"

enum usage_format { FORMAT_DEFAULT, FORMAT_NDJSON, FORMAT_JSON };

struct usage_query {
	uint64_t since;
	struct slice session;
	unsigned format;
};

static const char *const formats[] = { "ndjson", "json", NULL };

static const struct query_field fields[] = {
	{ "since", QUERY_UINT, offsetof(struct usage_query, since), NULL },
	{ "session", QUERY_TEXT, offsetof(struct usage_query, session), NULL },
	{ "format", QUERY_WORD, offsetof(struct usage_query, format), formats },
	{ 0 },
};

struct usage_stream {
	struct http_stream base;
	struct ledger *ledger;
	uint64_t since, last;	   /* read so far; the newest at the time of the request */
	char *session;		   /* NULL: all */
	const struct grant *grant; /* lives as long as the request */
	bool is_json, begun, needs_comma;
};

struct usage_filling {
	struct usage_stream *s;
	struct buf *out;
	size_t room, seen; /* bytes of lines examined, so that a filter does not hold up the loop */
};

/* Of the sessions of a token that is limited to some, none of another. */
static bool usage_is_wanted(const struct usage_stream *s, struct slice line)
{
	_cleanup_(freep) char *id = NULL;

	if (s->session && !jstr_is(jobj_get(line, "sessionId"), s->session))
		return false;
	return !grant_limited(s->grant) ||
	       (jstr_decode(jobj_get(line, "sessionId"), RPC_ID_MAX, &id) == 0 &&
		grant_sees(s->grant, id));
}

/* Whoever gets all records confirms those before; who only observes changes nothing. */
static bool confirms(const struct usage_stream *s)
{
	return !s->session && !grant_limited(s->grant) && grant_scope(s->grant) != GRANT_OBSERVE;
}

static bool put_record(void *ctx, uint64_t n, struct slice line)
{
	struct usage_filling *f = ctx;
	struct usage_stream *s = f->s;

	if (f->seen >= f->room || n > s->last)
		return false;
	f->seen += line.n + 1;
	s->since = n;
	if (!usage_is_wanted(s, line))
		return true;
	if (s->is_json && s->needs_comma)
		buf_putc(f->out, ',');
	s->needs_comma = true;
	buf_add_slice(f->out, line);
	if (!s->is_json)
		buf_putc(f->out, '\n');
	return true;
}

/* The request confirms the records before its number. Sets where the rest begins. */
static void usage_begin(struct usage_stream *s, struct buf *out)
{
	/* Records whose files were removed: reading continues behind them. */
	uint64_t removed = MIN(ledger_first(s->ledger) - 1, s->last);

	if (s->is_json && !s->begun)
		buf_puts(out, "{\"records\":[");
	if (confirms(s) && !s->begun)
		ledger_asked(s->ledger, s->since);
	s->begun = true;
	s->since = MAX(s->since, removed);
}

static enum http_fill usage_fill(struct http_stream *base, struct buf *out, size_t room)
{
	struct usage_stream *s = container_of(base, struct usage_stream, base);
	struct usage_filling f = { s, out, room, 0 };
	uint64_t since;

	usage_begin(s, out);
	since = s->since;
	if (s->since < s->last && ledger_read(s->ledger, s->since, put_record, &f) < 0)
		return HTTP_FILL_ERROR;
	if (out->failed || (s->since < s->last && !f.seen))
		return HTTP_FILL_ERROR; /* records are missing from the file */
	if (confirms(s))
		ledger_handed(s->ledger, since, s->since);
	if (s->since < s->last)
		return HTTP_FILL_MORE;
	if (s->is_json)
		buf_printf(out, "],\"last\":%llu}", (unsigned long long)s->last);
	return HTTP_FILL_END;
}

static void usage_stream_free(struct http_stream *base)
{
	struct usage_stream *s = container_of(base, struct usage_stream, base);

	free_each(s->session, s);
}

static const struct http_stream_ops ops = { .fill = usage_fill, .free = usage_stream_free };

void http_get_usage(const struct http_call *c, struct http_reply *ret)
{
	struct ledger *ledger = store_ledger(c->ctx->store);
	struct usage_query a = { 0 };
	struct usage_stream *s;

	if (!http_query(c, fields, &a, ret))
		return;
	if (!ledger) {
		http_reply_error(ret, 404, "LEDGER_OFF", "no usage ledger is kept");
		return;
	}
	s = new0(struct usage_stream);
	s->base.ops = &ops;
	s->ledger = ledger;
	s->grant = c->rq->grant;
	s->since = a.since;
	s->last = ledger_last(ledger);
	s->session = a.session.n ? xstrndup(a.session.p, a.session.n) : NULL;
	s->is_json = a.format == FORMAT_JSON;
	http_reply_header(ret, "Acpd-Last:", NUMBER_TEXT(s->last));
	http_reply_header(ret, "Acpd-First:", NUMBER_TEXT(ledger_first(ledger)));
	ret->content_type = s->is_json ? "application/json" : "application/x-ndjson";
	ret->stream = &s->base;
}
