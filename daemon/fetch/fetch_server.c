/*
 * fetch_server.c - the end of the socket in acpd-fetch: passes the frames of the daemon to keys and
 * transfers.
 *
 * CONFIG is first and once. A frame that breaks the protocol ends the process, and the keys with
 * it. A transfer is stored at its number modulo FETCHES_MAX: the daemon reuses a place only after
 * it has closed the transfer there (fetch_call.c). Frames for a transfer that has ended are
 * ignored, because they crossed its END.
 */
#include "fetch/fetch_server.h"

#include "base/util.h"
#include "fetch/fetch_transfer.h"
#include "fetch/held_keys.h"

#include <errno.h>

struct fetch_server {
	struct frame_channel channel;
	struct fetch_world world;
	struct held_keys keys;
	bool configured;
	struct {
		uint32_t number;
		struct fetch_transfer *transfer; /* NULL: the place is free */
	} places[FETCHES_MAX];			 /* by number, modulo their count */
};

static struct fetch_transfer *find(struct fetch_server *s, uint32_t number)
{
	size_t at = number % FETCHES_MAX;

	return s->places[at].number == number ? s->places[at].transfer : NULL;
}

static void drop(struct fetch_server *s, uint32_t number)
{
	struct fetch_transfer **t = &s->places[number % FETCHES_MAX].transfer;

	if (find(s, number))
		*t = fetch_transfer_free(*t);
}

/* --- frames --------------------------------------------------------------------------------------------------- */

static int on_config(struct fetch_server *s, const struct frame *f, int *fd _unused_)
{
	if (s->configured || fetch_settings_parse(f->payload, &s->world.settings) < 0)
		return -EPROTO;
	s->configured = true;
	s->keys.unlocked = s->world.settings.unlocked;
	frame_channel_send(&s->channel, FRAME_READY, 0, SLICE_NONE, -1);
	return 0;
}

static int on_key(struct fetch_server *s, const struct frame *f, int *fd _unused_)
{
	/* without memory for it, a request that wants it ends */
	return held_keys_add(&s->keys, f->number, f->payload) == -EPROTO ? -EPROTO : 0;
}

static int on_key_drop(struct fetch_server *s, const struct frame *f, int *fd _unused_)
{
	held_keys_drop(&s->keys, f->number);
	return 0;
}

static int open_one(struct fetch_server *s, uint32_t number, const struct fetch_order *o, int *fd)
{
	size_t at = number % FETCHES_MAX;
	int body = -1;

	if (s->places[at].transfer || (o->body > 0 && *fd < 0))
		return -EPROTO;
	if (o->body > 0)
		body = TAKE_FD(*fd);
	s->places[at].number = number;
	s->places[at].transfer = fetch_transfer_start(
		&s->world, number, o, o->key ? held_keys_line(&s->keys, (uint32_t)o->key) : NULL,
		body);
	return 0;
}

static int on_open(struct fetch_server *s, const struct frame *f, int *fd)
{
	struct fetch_order o;
	int r = fetch_order_parse(f->payload, &o);

	if (r < 0)
		return r;
	r = open_one(s, f->number, &o, fd);
	fetch_order_done(&o);
	return r;
}

/* For a transfer that has ended meanwhile it comes too late. */
static int on_taken(struct fetch_server *s, const struct frame *f, int *fd _unused_)
{
	struct fetch_transfer *t = find(s, f->number);
	uint32_t n;

	if (fetch_taken_parse(f->payload, &n) < 0)
		return -EPROTO;
	if (t)
		fetch_transfer_taken(t, n);
	return 0;
}

static int on_close(struct fetch_server *s, const struct frame *f, int *fd _unused_)
{
	drop(s, f->number);
	return 0;
}

static int (*const takes[FRAME_MAX])(struct fetch_server *s, const struct frame *f, int *fd) = {
	[FRAME_CONFIG] = on_config, [FRAME_KEY] = on_key,     [FRAME_KEY_DROP] = on_key_drop,
	[FRAME_OPEN] = on_open,	    [FRAME_TAKEN] = on_taken, [FRAME_CLOSE] = on_close,
};

static int on_frame(void *ctx, const struct frame *f, int *fd)
{
	struct fetch_server *s = ctx;

	if (!takes[f->type] || (!s->configured && f->type != FRAME_CONFIG))
		return -EPROTO;
	return takes[f->type](s, f, fd);
}

static void on_closed(void *ctx, const char *why _unused_)
{
	struct fetch_server *s = ctx;

	loop_quit(s->world.loop);
}

static const struct frame_channel_ops channel_ops = { FRAME_MAX, on_frame, on_closed };

/* --- transfers ------------------------------------------------------------------------------------------------ */

static void on_ended(void *ctx, uint32_t number)
{
	drop(ctx, number);
}

static void on_over(void *ctx _unused_, CURL *easy, CURLcode how)
{
	fetch_transfer_over(easy, how);
}

struct fetch_server *fetch_server_new(struct loop *loop, int fd, const char *ca_file)
{
	struct fetch_server *s = new0(struct fetch_server);

	held_keys_init(&s->keys);
	s->world = (struct fetch_world){ .loop = loop,
					 .curl = curl_loop_new(loop, on_over, s),
					 .channel = &s->channel,
					 .ca_file = ca_file,
					 .ended = on_ended,
					 .ctx = s };
	frame_channel_open(&s->channel, loop, fd, true, &channel_ops, s);
	return s;
}

struct fetch_server *fetch_server_free(struct fetch_server *s)
{
	/* Before libcurl: curl_loop_free requires that no transfer is left. */
	for (size_t i = 0; i < FETCHES_MAX; i++)
		fetch_transfer_free(s->places[i].transfer);
	s->world.curl = curl_loop_free(s->world.curl);
	frame_channel_close(&s->channel);
	held_keys_done(&s->keys);
	fetch_settings_done(&s->world.settings);
	free(s);
	return NULL;
}
