#include "cli/serve/serve_telemetry.h"
#include "cli/options/cli_options.h"

#include "base/log.h"
#include "fetcher/fetcher.h"
#include "http/metrics/daemon_metrics.h"
#include "outbox/otlp/telemetry.h"
#include "outbox/outbox.h"

#include <errno.h>

static const char *variable(const char *name)
{
	return getenv(name);
}

static void warn(const char *name, const char *why)
{
	log_warn("serve", "a variable of telemetry is not followed", "name", name, "text", why);
}

int serve_telemetry_check(struct err *e)
{
	_cleanup_(freep) char *program = NULL;
	struct otlp_config c = { .service = NULL };
	bool any;
	int r = otlp_config_read(&c, variable, NULL, e);

	if (r < 0)
		return r;
	any = otlp_config_any(&c);
	otlp_config_done(&c);
	program = any ? fetcher_program() : NULL;
	return !any || program ? 0 :
				 err_set(e, -ENOENT, 0, "FETCH_UNAVAILABLE",
					 "telemetry: acpd-fetch, which sends it, is not installed");
}

struct outbox *serve_outbox_new(const struct config *c, struct loop *loop, struct fetcher *fetcher)
{
	struct otlp_config telemetry = { .service = NULL };
	struct outbox_config oc = { .loop = loop,
				    .fetcher = fetcher,
				    .state = c->state,
				    .keep = c->webhook_keep,
				    .telemetry = &telemetry };
	struct err e = { 0 };

	(void)otlp_config_read(&telemetry, variable, warn, &e);
	return outbox_new(&oc);
}

static void collect(void *ctx, struct metric_sink *m)
{
	daemon_metrics_put(ctx, m);
}

void serve_telemetry_collect(struct outbox *o, struct http_context *numbers)
{
	telemetry_collect(outbox_telemetry(o), collect, numbers);
}
