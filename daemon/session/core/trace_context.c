/*
 * trace_context.c - parses W3C Trace Context and Baggage from _meta or HTTP headers.
 *
 * The values are untrusted and later become headers and environment variables: only printable ASCII
 * passes, within length limits. A traceparent must have the 55-character form of version 00, with
 * nonzero ids; version "ff" is invalid (W3C Trace Context, section 3.2.2). An invalid traceparent
 * discards its tracestate as well.
 */
#include "session/core/trace_context.h"

#include "base/util.h"
#include "json/json.h"

bool trace_parent_set(char to[TRACEPARENT_SIZE], const char *text)
{
	static const char form[] = "xx-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-xxxxxxxxxxxxxxxx-xx";

	if (strlen(text) != strlen(form))
		return false;
	for (size_t i = 0; form[i]; i++)
		if (form[i] == 'x' ? !strchr("0123456789abcdef", text[i]) : text[i] != '-')
			return false;
	/* Offsets 3 and 36: where the two ids begin in `form`. */
	if (strncmp(text, "ff", 2) == 0 || strspn(text + 3, "0") >= 32 ||
	    strspn(text + 36, "0") >= 16)
		return false;
	memcpy(to, text, TRACEPARENT_SIZE);
	return true;
}

/* A text for headers and variables. */
static bool is_plain(const char *text)
{
	for (const char *at = text; *at; at++)
		if (*at < ' ' || *at > '~')
			return false;
	return *text;
}

/* NULL: it is none, or too long. */
static char *plain_member(struct slice meta, const char *name, size_t max)
{
	_cleanup_(freep) char *text = NULL;

	if (!meta.n || jstr_decode(jobj_get(meta, name), max, &text) < 0 || !is_plain(text))
		return NULL;
	return TAKE_PTR(text);
}

void trace_context_read(struct trace_context *t, struct slice meta)
{
	_cleanup_(freep) char *parent = plain_member(meta, "traceparent", TRACEPARENT_SIZE);

	trace_context_done(t);
	/* without its parent a tracestate says nothing */
	if (parent && trace_parent_set(t->parent, parent))
		t->state = plain_member(meta, "tracestate", TRACESTATE_MAX);
	t->baggage = plain_member(meta, "baggage", BAGGAGE_MAX);
	t->request_id = plain_member(meta, "requestId", REQUEST_ID_MAX);
}

void trace_context_read_headers(struct trace_context *t, const char *parent, const char *state)
{
	trace_context_done(t);
	if (trace_parent_set(t->parent, parent) && is_plain(state) &&
	    strlen(state) <= TRACESTATE_MAX)
		t->state = xstrdup(state);
}

void trace_context_copy(struct trace_context *to, const struct trace_context *from)
{
	trace_context_done(to);
	memcpy(to->parent, from->parent, sizeof(to->parent));
	to->state = xstrdup(from->state);
	to->baggage = xstrdup(from->baggage);
	to->request_id = xstrdup(from->request_id);
}

void trace_context_done(struct trace_context *t)
{
	free_each(t->state, t->baggage, t->request_id);
	*t = (struct trace_context){ .state = NULL };
}

bool trace_context_is_empty(const struct trace_context *t)
{
	return !*t->parent && !t->baggage && !t->request_id;
}

struct slice trace_id_of(const char *parent)
{
	return (struct slice){ parent + 3, TRACE_ID_SIZE - 1 };
}

struct slice trace_span_of(const char *parent)
{
	return (struct slice){ parent + 36, SPAN_ID_SIZE - 1 };
}

bool trace_is_sampled(const char *parent)
{
	/* Offset 53: the flags, of which bit 0 is "sampled" (W3C Trace Context, trace-flags). */
	return strtoul(parent + 53, NULL, 16) & 1;
}

void trace_parent_make(char to[TRACEPARENT_SIZE], const char *trace_id, const char *span_id,
		       bool sampled)
{
	snprintf(to, TRACEPARENT_SIZE, "00-%.32s-%.16s-%02x", trace_id, span_id, sampled);
}
