/* session_log.c - what the log says of a session: one line for each event of its life, with the session, the turn and
 * the trace. */
#include "session/core/session_internal.h"

const char *turn_trace(const struct session_turn *t, char out[TRACEPARENT_SIZE])
{
	if (!t->span.on)
		return t->trace.parent;
	trace_parent_make(out, t->span.trace, t->span.id, t->span.sampled);
	return out;
}

static void session_log_write(const struct session *s, const struct session_turn *t,
			      enum log_level level, const char *event, va_list ap)
{
	const char *first[] = { "session", s->id, NULL, NULL, NULL, NULL,
				NULL,	   NULL,  NULL, NULL, NULL };
	size_t n = 2;
	char no[24], parent[TRACEPARENT_SIZE];

	if (t && t->no) { /* what waits has none */
		snprintf(no, sizeof(no), "%llu", (unsigned long long)t->no);
		first[n++] = "turn";
		first[n++] = no;
	}
	if (t && *turn_trace(t, parent)) {
		first[n++] = "traceparent";
		first[n++] = turn_trace(t, parent);
	}
	if (t && t->trace.request_id) {
		first[n++] = "clientRequestId";
		first[n++] = t->trace.request_id;
	}
	if (t && s->setup.labels[LABEL_CONFIG_VERSION]) {
		first[n++] = session_label_names[LABEL_CONFIG_VERSION];
		first[n++] = s->setup.labels[LABEL_CONFIG_VERSION];
	}
	log_vwrite(level, "session", event, first, ap);
}

void session_log(const struct session *s, const char *event, ...)
{
	va_list ap;

	va_start(ap, event);
	/* A line of the session belongs to its running turn, if there is one. */
	session_log_write(s, s->turn.current, LOG_INFO, event, ap);
	va_end(ap);
}

void turn_log(const struct session_turn *t, enum log_level level, const char *event, ...)
{
	va_list ap;

	va_start(ap, event);
	session_log_write(t->session, t, level, event, ap);
	va_end(ap);
}

void session_note_lifecycle(struct session *s, struct slice members)
{
	event_note(s, EVENT_LIFECYCLE, members);
}
