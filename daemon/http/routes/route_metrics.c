/* route_metrics.c - GET /metrics. */
#include "http/routes/handlers.h"

#include "http/metrics/daemon_metrics.h"
#include "http/metrics/metric_text.h"

void http_get_metrics(const struct http_call *c, struct http_reply *ret)
{
	struct metric_text t;

	ret->content_type = METRIC_TEXT_TYPE;
	metric_text_init(&t, &ret->body);
	daemon_metrics_put(c->ctx, &t.sink);
}
