/*
 * proxy_server.c - passes the frames of the daemon to the listeners, in acpd-proxy.
 *
 * A frame that breaks the protocol ends the process; the daemon then starts the next run with all listeners. A DENY must have a reason with an HTTP status, because
 * waiting clients are answered with it.
 */
#include "proxy/proxy.h"

#include "base/util.h"

struct proxy_server {
	struct proxy_world world;
	struct list doors;
	unsigned ndoors;
};

static struct proxy_door *proxy_server_find(struct proxy_server *s, uint32_t number)
{
	list_each(d, &s->doors, struct proxy_door, link)
		if (d->number == number)
			return d;
	return NULL;
}

/* --- frames --------------------------------------------------------------------------------------------------- */

static int on_proxy_server_config(void *ctx, const struct frame *f, int *fd _unused_)
{
	struct proxy_server *s = ctx;

	return egress_settings_parse(f->payload, &s->world.settings);
}

static int on_door(void *ctx, const struct frame *f, int *fd)
{
	struct proxy_server *s = ctx;
	struct egress_order order;
	struct proxy_door *d;

	if (*fd < 0 || proxy_server_find(s, f->number) || s->ndoors == EGRESS_DOORS_MAX ||
	    egress_order_parse(f->payload, &order) < 0)
		return -EPROTO;
	d = proxy_door_open(&s->world, f->number, TAKE_FD(*fd), &order);
	if (!d)
		return -EPROTO;
	list_add_tail(&s->doors, &d->link);
	s->ndoors++;
	return 0;
}

static int on_rules(void *ctx, const struct frame *f, int *fd _unused_)
{
	struct proxy_door *d = proxy_server_find(ctx, f->number);
	struct egress_rules *rules;

	if (!d || egress_rules_parse(f->payload, "rules", &rules, NULL) < 0)
		return -EPROTO;
	proxy_door_set_rules(d, rules);
	return 0;
}

static int on_deny(void *ctx, const struct frame *f, int *fd _unused_)
{
	struct proxy_door *d = proxy_server_find(ctx, f->number);
	struct egress_notice n;

	if (!d || egress_notice_parse(f->payload, &n) < 0 || !egress_reasons[n.reason].status)
		return -EPROTO;
	proxy_door_deny(d, n.host, n.reason);
	return 0;
}

static int on_shut(void *ctx, const struct frame *f, int *fd _unused_)
{
	struct proxy_server *s = ctx;
	struct proxy_door *d = proxy_server_find(s, f->number);

	if (!d)
		return -EPROTO;
	proxy_door_shut(d);
	s->ndoors--;
	return 0;
}

const service_frame_fn proxy_server_takes[EGRESS_FRAME_MAX] = {
	[EGRESS_CONFIG] = on_proxy_server_config,
	[EGRESS_DOOR] = on_door,
	[EGRESS_RULES] = on_rules,
	[EGRESS_DENY] = on_deny,
	[EGRESS_SHUT] = on_shut,
};

struct proxy_server *proxy_server_new(struct service_run *run, int owners)
{
	struct proxy_server *s = new0(struct proxy_server);

	s->world = (struct proxy_world){ .loop = run->loop,
					 .channel = &run->channel,
					 .owners = owners };
	list_init(&s->doors);
	return s;
}

void proxy_server_free(void *server)
{
	struct proxy_server *s = server;

	list_each(d, &s->doors, struct proxy_door, link)
		proxy_door_shut(d);
	/* Listeners and connections free themselves in deferred tasks. */
	loop_run_deferred(s->world.loop);
	egress_settings_done(&s->world.settings);
	free(s);
}
