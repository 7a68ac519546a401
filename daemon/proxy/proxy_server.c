/*
 * proxy_server.c - the end of the socket in acpd-proxy: passes the frames of the daemon to the
 * listeners.
 *
 * CONFIG is first and once. A frame that breaks the protocol ends the process; the daemon then
 * starts the next run with all listeners. A DENY must have a reason with an HTTP status, because
 * waiting clients are answered with it.
 */
#include "proxy/proxy_server.h"

#include "base/util.h"
#include "proxy/proxy_door.h"

#include <errno.h>

struct proxy_server {
	struct proxy_world world;
	bool configured;
	struct list doors;
	unsigned ndoors;
};

static struct proxy_door *find(struct proxy_server *s, uint32_t number)
{
	list_each(d, &s->doors, struct proxy_door, link)
		if (d->number == number)
			return d;
	return NULL;
}

/* --- frames --------------------------------------------------------------------------------------------------- */

static int on_config(struct proxy_server *s, const struct frame *f, int *fd _unused_)
{
	if (s->configured || egress_settings_parse(f->payload, &s->world.settings) < 0)
		return -EPROTO;
	s->configured = true;
	frame_channel_send(&s->world.channel, EGRESS_READY, 0, SLICE_NONE, -1);
	return 0;
}

static int on_door(struct proxy_server *s, const struct frame *f, int *fd)
{
	struct egress_order order;
	struct proxy_door *d;

	if (*fd < 0 || find(s, f->number) || s->ndoors == EGRESS_DOORS_MAX ||
	    egress_order_parse(f->payload, &order) < 0)
		return -EPROTO;
	d = proxy_door_open(&s->world, f->number, TAKE_FD(*fd), &order);
	if (!d)
		return -EPROTO;
	list_add_tail(&s->doors, &d->link);
	s->ndoors++;
	return 0;
}

static int on_rules(struct proxy_server *s, const struct frame *f, int *fd _unused_)
{
	struct proxy_door *d = find(s, f->number);
	struct egress_rules *rules;

	if (!d || egress_rules_parse(f->payload, "rules", &rules, NULL) < 0)
		return -EPROTO;
	proxy_door_set_rules(d, rules);
	return 0;
}

static int on_deny(struct proxy_server *s, const struct frame *f, int *fd _unused_)
{
	struct proxy_door *d = find(s, f->number);
	struct egress_notice n;

	if (!d || egress_notice_parse(f->payload, &n) < 0 || !egress_reason_status(n.reason))
		return -EPROTO;
	proxy_door_deny(d, n.host, n.reason);
	return 0;
}

static int on_shut(struct proxy_server *s, const struct frame *f, int *fd _unused_)
{
	struct proxy_door *d = find(s, f->number);

	if (!d)
		return -EPROTO;
	proxy_door_shut(d);
	s->ndoors--;
	return 0;
}

static int (*const takes[EGRESS_FRAME_MAX])(struct proxy_server *s, const struct frame *f,
					    int *fd) = {
	[EGRESS_CONFIG] = on_config, [EGRESS_DOOR] = on_door, [EGRESS_RULES] = on_rules,
	[EGRESS_DENY] = on_deny,     [EGRESS_SHUT] = on_shut,
};

static int on_frame(void *ctx, const struct frame *f, int *fd)
{
	struct proxy_server *s = ctx;

	if (!takes[f->type] || (!s->configured && f->type != EGRESS_CONFIG))
		return -EPROTO;
	return takes[f->type](s, f, fd);
}

static void on_closed(void *ctx, const char *why _unused_)
{
	struct proxy_server *s = ctx;

	loop_quit(s->world.loop);
}

static const struct frame_channel_ops channel_ops = { EGRESS_FRAME_MAX, on_frame, on_closed };

struct proxy_server *proxy_server_new(struct loop *loop, int fd, int owners)
{
	struct proxy_server *s = new0(struct proxy_server);

	s->world = (struct proxy_world){ .loop = loop, .owners = owners };
	list_init(&s->doors);
	frame_channel_open(&s->world.channel, loop, fd, true, &channel_ops, s);
	return s;
}

struct proxy_server *proxy_server_free(struct proxy_server *s)
{
	list_each(d, &s->doors, struct proxy_door, link)
		proxy_door_shut(d);
	/* Listeners and connections free themselves in deferred tasks. */
	loop_run_deferred(s->world.loop);
	frame_channel_close(&s->world.channel);
	egress_settings_done(&s->world.settings);
	free(s);
	return NULL;
}
