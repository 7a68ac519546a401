/*
 * call_span.c - the span of a model call that passed the daemon, and the metrics measured with it.
 *
 * Metrics are recorded for every call; a span is exported only if its trace is sampled (span_tell). The call is
 * reported when it ends, so the start of its span is moved back by its duration.
 */
#include "session/parts/usage/usage_record.h"

#include "model/call_meter.h"
#include "outbox/outbox.h"
#include "session/core/session_internal.h"
#include "session/parts/trace/session_trace.h"

static const char *call_error(const struct call_report *r)
{
	if (r->cancelled)
		return "cancelled";
	return r->use->failed ? r->use->error.cls : NULL;
}

static void measure_call(const struct session *s, const struct call_report *r, const char *model)
{
	struct telemetry *t = outbox_telemetry(s->store->outbox);
	const struct harness_usage *u = &r->use->usage;
	struct metric_label l[MEASURED_LABELS] = {
		{ "gen_ai.operation.name", "chat" },
		{ "gen_ai.provider.name", session_provider_name(s, u->provider) },
		{ "gen_ai.request.model", model },
		{ "error.type", call_error(r) },
	};

	telemetry_measure(t, MEASURED_DURATION, l, (double)r->duration_ms / 1000);
	/* The last label is the error for a duration, and the direction for tokens. */
	l[3] = (struct metric_label){ "gen_ai.token.type", "input" };
	if (u->has & (1u << COUNT_INPUT))
		telemetry_measure(t, MEASURED_TOKENS, l, (double)u->count[COUNT_INPUT]);
	l[3].value = "output";
	if (u->has & (1u << COUNT_OUTPUT))
		telemetry_measure(t, MEASURED_TOKENS, l, (double)u->count[COUNT_OUTPUT]);
}

static void span_put_call(struct span_note *n, const struct session *s, const struct call_report *r,
			  const char *model)
{
	const struct metered *m = r->use;

	span_put(n, "gen_ai.operation.name", "chat");
	span_put(n, "gen_ai.provider.name", session_provider_name(s, m->usage.provider));
	span_put(n, "gen_ai.request.model", model);
	span_put(n, "gen_ai.response.model", m->usage.model);
	span_put(n, "gen_ai.response.id", m->usage.response_id);
	span_put_only(n, "gen_ai.response.finish_reasons", m->usage.finish_reason);
	span_put_tokens(n, &m->usage);
	if (m->status)
		span_put_int(n, "http.response.status_code", m->status);
	if (r->answered)
		span_put_int(n, "acpd.model.first_byte_ms", (int64_t)r->ttfb_ms);
	span_put_int(n, "acpd.model.attempt", r->attempt);
	span_put(n, "acpd.model.via", harness_via_name(s->setup.gateway.via));
	span_put(n, "acpd.model.call.id", r->call_id);
	span_put(n, "acpd.provider.request.id", r->request_id);
	if (r->auxiliary)
		span_put_bool(n, "acpd.model.auxiliary", true);
}

void model_call_span(struct session *s, const struct session_turn *t, const struct call_report *r)
{
	const char *model = r->model_asked ? r->model_asked : r->use->usage.model;
	struct span_note n;
	struct trace_span x;

	measure_call(s, r, model);
	span_begin_for(s, &x, t);
	x.began_ns -= MIN(x.began_ns, r->duration_ms * 1000000);
	if (!span_tell(s, &x, &n, SPAN_CLIENT, "chat", model))
		return;
	span_put_call(&n, s, r, model);
	span_told(&n, call_error(r), r->use->failed ? r->use->error.message : NULL);
}
