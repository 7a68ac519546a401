/* serve_telemetry.h - where telemetry goes, by the variables of the daemon's environment (outbox/otlp/otlp_config.h). */
#pragma once

#include "base/err.h"

struct config;
struct fetcher;
struct http_context;
struct loop;
struct outbox;

/* What cannot be meant: OTEL_VARIABLE_INVALID, OTEL_PROTOCOL_UNSUPPORTED, FETCH_UNAVAILABLE. */
int serve_telemetry_check(struct err *e);
/* Webhooks and telemetry. What passed the check and is ignored is a line of the log. */
struct outbox *serve_outbox_new(const struct config *c, struct loop *loop, struct fetcher *fetcher);
/* Its numbers are those of /metrics. */
void serve_telemetry_collect(struct outbox *o, struct http_context *numbers);
