/*
 * egress.c - runs acpd-proxy while sessions have a listener, and gives each run its settings and
 * all listeners.
 *
 * The listening sockets stay with the daemon, so clients wait in the backlog while the program
 * restarts. A restart starts from a timer, after the callback of the ended run has returned. The
 * process itself is managed by proc/standing.h.
 */
#include "egress/egress_internal.h"

#include "base/log.h"
#include "base/os/file.h"

#define AGAIN_MS 100 /* between two tries to start it */

/* --- runs ----------------------------------------------------------------------------------------------------- */

static void on_egress_again(void *ctx)
{
	egress_start(ctx);
}

void egress_start(struct egress *x)
{
	char why[STANDING_WHY_SIZE];

	if (!x->ndoors || standing_get(&x->proxy, why))
		return;
	log_debug("egress", "acpd-proxy is not started", "text", why);
	loop_timer_set(x->loop, &x->again, AGAIN_MS, on_egress_again, x);
}

static void on_egress_begun(void *ctx, struct standing_run *run)
{
	_cleanup_(buf_done) struct buf settings = { 0 };
	struct egress *x = ctx;

	egress_settings_put(&settings, &x->settings);
	/* CONFIG is first: the program refuses any other frame before it. */
	frame_channel_send(&run->channel, EGRESS_CONFIG, 0, buf_slice(&settings), -1);
	list_each(d, &x->doors, struct egress_door, link)
		egress_door_give(d, run);
}

static void on_egress_ended(void *ctx, struct standing_run *run _unused_, const char *why)
{
	struct egress *x = ctx;

	log_warn("egress", "what passed through acpd-proxy is lost", "text", why);
	loop_timer_set(x->loop, &x->again, 1, on_egress_again, x);
}

static const struct standing_ops ops = {
	.channel = { EGRESS_FRAME_MAX, standing_take, standing_lost },
	.ready = EGRESS_READY,
	.begun = on_egress_begun,
	.frame = egress_take_frame,
	.ended = on_egress_ended,
};

/* --- life ----------------------------------------------------------------------------------------------------- */

struct egress *egress_new(const struct egress_config *cfg)
{
	struct egress *x = new0(struct egress);

	x->loop = cfg->loop;
	x->proxy = (struct standing){ .loop = cfg->loop,
				      .procs = cfg->procs,
				      .name = "acpd-proxy",
				      .variable = "ACPD_PROXY",
				      .option = "fetch-user",
				      .program = cfg->program ? xstrdup(cfg->program) :
								egress_program(),
				      .user = xstrdup(cfg->user),
				      .agent_user = xstrdup(cfg->agent_user),
				      .ops = &ops,
				      .ctx = x };
	standing_init(&x->proxy);
	x->settings = (struct egress_settings){ xstrdup(cfg->allow), xstrdup(cfg->resolvers) };
	list_init(&x->doors);
	return x;
}

void egress_allow(struct egress *x, const char *allow)
{
	xstrset(&x->settings.allow, allow);
}

struct egress *egress_free(struct egress *x)
{
	if (!x)
		return NULL;
	loop_timer_cancel(&x->again);
	standing_done(&x->proxy);
	egress_settings_done(&x->settings);
	free(x);
	return NULL;
}

const char *egress_missing(const struct egress *x)
{
	return x && x->proxy.program ? NULL : "acpd-proxy is not installed";
}

char *egress_program(void)
{
	return file_program("ACPD_PROXY", "acpd-proxy");
}

bool egress_user(const struct egress *x, uid_t *ret)
{
	struct err e;
	gid_t gid;

	return x && x->proxy.program && standing_user(&x->proxy, ret, &gid, &e) == 0;
}
