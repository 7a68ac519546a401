/* fetch_helper.c - the runs of acpd-fetch: what each is told first, and what becomes of requests when it ends. */
#include "fetcher/fetcher_internal.h"

static void on_begun(void *ctx, struct standing_run *run)
{
	_cleanup_(buf_done) struct buf settings = { 0 };
	struct fetcher *f = ctx;

	fetch_settings_put(&settings, &f->settings);
	frame_channel_send(&run->channel, FRAME_CONFIG, 0, buf_slice(&settings), -1);
	explicit_bzero(settings.data, settings.len);
}

static void on_ended(void *ctx, struct standing_run *run, const char *why)
{
	fetch_end_all(ctx, run, run->ready ? FETCH_GONE : FETCH_UNAVAILABLE, why);
}

static const struct standing_ops ops = { .channel = { FRAME_MAX, standing_take, standing_lost },
					 .ready = FRAME_READY,
					 .begun = on_begun,
					 .frame = fetch_take_frame,
					 .ended = on_ended };

void fetch_helper_init(struct fetcher *f, const struct fetcher_config *cfg)
{
	f->helper = (struct standing){
		.loop = cfg->loop,
		.procs = cfg->procs,
		.name = "acpd-fetch",
		.variable = "ACPD_FETCH",
		.option = "fetch-user",
		.program = cfg->program ? xstrdup(cfg->program) : fetcher_program(),
		.user = xstrdup(cfg->user),
		.agent_user = xstrdup(cfg->agent_user),
		.argument = cfg->ca_file ? xstrdup(cfg->ca_file) : fetcher_ca_file(),
		.ops = &ops,
		.ctx = f
	};
	standing_init(&f->helper);
}
