/*
 * span.c - starts spans, and encodes them into the telemetry queue when they end.
 *
 * A span costs an id and a time until it ends: nothing is allocated or queued before span_tell.
 * `told` makes the export happen once, although several paths can end the same span. An unsampled
 * span still has ids, since children and remote services continue its trace. Every text is masked
 * here, so no caller can forget it.
 */
#include "session/core/turn/span.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "outbox/outbox.h"
#include "session/core/session_internal.h"
#include "session/core/redact/redact_internal.h"

static struct telemetry *telemetry_of(const struct session_store *st)
{
	struct telemetry *t = outbox_telemetry(st->outbox);

	return telemetry_traces(t) ? t : NULL;
}

static void copy(char *to, struct slice from)
{
	memcpy(to, from.p, from.n);
	to[from.n] = '\0';
}

void span_begin_at(const struct session_store *st, struct trace_span *x, const char *parent)
{
	const struct telemetry *t = telemetry_of(st);

	*x = (struct trace_span){ .on = t != NULL };
	if (!t)
		return;
	if (*parent) {
		copy(x->trace, trace_id_of(parent));
		copy(x->parent, trace_span_of(parent));
	} else {
		random_hex(x->trace, (TRACE_ID_SIZE - 1) / 2);
	}
	random_hex(x->id, (SPAN_ID_SIZE - 1) / 2);
	/* The caller's decision is passed on: a trace is recorded completely or not at all. */
	x->sampled = telemetry_samples(t, x->trace, *parent ? trace_is_sampled(parent) : -1);
	x->began_ns = clock_real_ns();
}

void span_begin(const struct session *s, struct trace_span *x, const char *parent)
{
	span_begin_at(s->store, x, parent);
}

void span_begin_in(struct trace_span *x, const struct trace_span *of)
{
	*x = (struct trace_span){ .on = of->on, .sampled = of->sampled };
	if (!of->on)
		return;
	memcpy(x->trace, of->trace, sizeof(x->trace));
	memcpy(x->parent, of->id, sizeof(x->parent));
	random_hex(x->id, (SPAN_ID_SIZE - 1) / 2);
	x->began_ns = clock_real_ns();
}

const char *span_text(const struct trace_span *x, char out[TRACEPARENT_SIZE])
{
	*out = '\0';
	if (x->on)
		trace_parent_make(out, x->trace, x->id, x->sampled);
	return out;
}

/* --- telling ------------------------------------------------------------------------------------------------ */

static char *masked(const struct session *s, const char *text)
{
	char *copy = xstrdup(text);

	if (copy && s)
		session_mask_string(s, &copy);
	return copy;
}

struct span_note span_note_of(const struct session_store *st, const struct session *s)
{
	return (struct span_note){ .session = s, .telemetry = telemetry_of(st) };
}

bool span_tell(const struct session *s, struct trace_span *x, struct span_note *n,
	       enum span_kind kind, const char *name, const char *of)
{
	*n = span_note_of(s->store, s);
	return span_tell_at(x, n, kind, name, of);
}

bool span_tell_at(struct trace_span *x, struct span_note *n, enum span_kind kind, const char *name,
		  const char *of)
{
	_cleanup_(freep) char *whole = NULL, *shown = NULL;
	/* A copy from before `told` is set: it tells whether the span has been exported. */
	struct trace_span was = *x;

	x->told = true;
	if (!was.on || was.told || !was.sampled || !n->telemetry)
		return false;
	whole = xprintf(of && *of ? "%s %s" : "%s", name, of);
	shown = masked(n->session, whole);
	telemetry_span_begin(n->telemetry, &n->w, &n->b,
			     &(struct telemetry_span){ .trace_id = was.trace,
						       .span_id = was.id,
						       .parent_id = was.parent,
						       .name = slice_of(shown),
						       .kind = kind,
						       .start_ns = was.began_ns,
						       .end_ns = clock_real_ns() });
	span_put(n, "gen_ai.conversation.id", n->session ? n->session->id : NULL);
	return true;
}

void span_put(struct span_note *n, const char *key, const char *text)
{
	_cleanup_(freep) char *shown = masked(n->session, text);

	otlp_attr_text(&n->w, SPAN_ATTRIBUTES, key, shown);
}

void span_put_int(struct span_note *n, const char *key, int64_t v)
{
	otlp_attr_int(&n->w, SPAN_ATTRIBUTES, key, v);
}

void span_put_bool(struct span_note *n, const char *key, bool v)
{
	otlp_attr_bool(&n->w, SPAN_ATTRIBUTES, key, v);
}

void span_put_only(struct span_note *n, const char *key, const char *text)
{
	_cleanup_(freep) char *shown = masked(n->session, text);

	otlp_attr_only(&n->w, SPAN_ATTRIBUTES, key, shown);
}

void span_told(struct span_note *n, const char *type, const char *text)
{
	_cleanup_(freep) char *shown = masked(n->session, text);

	if (type)
		span_put(n, "error.type", type);
	telemetry_span_end(n->telemetry, &n->w, type ? (shown ? shown : "") : NULL);
	buf_done(&n->b);
}
