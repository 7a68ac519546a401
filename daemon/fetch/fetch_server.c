/*
 * fetch_server.c - passes the frames of the daemon to keys and transfers, in acpd-fetch.
 *
 * A frame that breaks the protocol ends the process, and the keys with it. A transfer is stored at its number modulo FETCHES_MAX: the daemon reuses a place only after
 * it has closed the transfer there (fetch_call.c). Frames for a transfer that has ended are
 * ignored, because they crossed its END.
 */
#include "fetch/fetch.h"

#include "base/util.h"

struct fetch_server {
	struct fetch_world world;
	struct held_keys keys;
	struct {
		uint32_t number;
		struct fetch_transfer *transfer; /* NULL: the place is free */
	} places[FETCHES_MAX];			 /* by number, modulo their count */
};

static struct fetch_transfer *fetch_server_find(struct fetch_server *s, uint32_t number)
{
	size_t at = number % FETCHES_MAX;

	return s->places[at].number == number ? s->places[at].transfer : NULL;
}

static void fetch_server_drop(struct fetch_server *s, uint32_t number)
{
	struct fetch_transfer **t = &s->places[number % FETCHES_MAX].transfer;

	if (fetch_server_find(s, number))
		*t = fetch_transfer_free(*t);
}

/* --- frames --------------------------------------------------------------------------------------------------- */

static int on_fetch_server_config(void *ctx, const struct frame *f, int *fd _unused_)
{
	struct fetch_server *s = ctx;
	int r = fetch_settings_parse(f->payload, &s->world.settings);

	s->keys.unlocked = s->world.settings.unlocked;
	return r;
}

static int on_key(void *ctx, const struct frame *f, int *fd _unused_)
{
	struct fetch_server *s = ctx;

	/* without memory for it, a request that wants it ends */
	return held_keys_add(&s->keys, f->number, f->payload) == -EPROTO ? -EPROTO : 0;
}

static int on_key_drop(void *ctx, const struct frame *f, int *fd _unused_)
{
	struct fetch_server *s = ctx;

	held_keys_drop(&s->keys, f->number);
	return 0;
}

static int fetch_server_open_one(struct fetch_server *s, uint32_t number,
				 const struct fetch_order *o, int *fd)
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

static int on_fetch_server_open(void *ctx, const struct frame *f, int *fd)
{
	struct fetch_order o;
	int r = fetch_order_parse(f->payload, &o);

	if (r < 0)
		return r;
	r = fetch_server_open_one(ctx, f->number, &o, fd);
	fetch_order_done(&o);
	return r;
}

/* For a transfer that has ended meanwhile it comes too late. */
static int on_fetch_server_taken(void *ctx, const struct frame *f, int *fd _unused_)
{
	struct fetch_transfer *t = fetch_server_find(ctx, f->number);
	uint32_t n;

	if (fetch_taken_parse(f->payload, &n) < 0)
		return -EPROTO;
	if (t)
		fetch_transfer_taken(t, n);
	return 0;
}

static int on_fetch_server_close(void *ctx, const struct frame *f, int *fd _unused_)
{
	fetch_server_drop(ctx, f->number);
	return 0;
}

const service_frame_fn fetch_server_takes[FRAME_MAX] = {
	[FRAME_CONFIG] = on_fetch_server_config, [FRAME_KEY] = on_key,
	[FRAME_KEY_DROP] = on_key_drop,		 [FRAME_OPEN] = on_fetch_server_open,
	[FRAME_TAKEN] = on_fetch_server_taken,	 [FRAME_CLOSE] = on_fetch_server_close,
};

/* --- transfers ------------------------------------------------------------------------------------------------ */

static void on_fetch_server_ended(void *ctx, uint32_t number)
{
	fetch_server_drop(ctx, number);
}

static void on_fetch_server_over(void *ctx _unused_, CURL *easy, CURLcode how)
{
	fetch_transfer_over(easy, how);
}

struct fetch_server *fetch_server_new(struct service_run *run, const char *ca_file)
{
	struct fetch_server *s = new0(struct fetch_server);

	held_keys_init(&s->keys);
	s->world = (struct fetch_world){ .loop = run->loop,
					 .curl = curl_loop_new(run->loop, on_fetch_server_over, s),
					 .channel = &run->channel,
					 .ca_file = ca_file,
					 .ended = on_fetch_server_ended,
					 .ctx = s };
	return s;
}

void fetch_server_free(void *server)
{
	struct fetch_server *s = server;

	/* Before libcurl: curl_loop_free requires that no transfer is left. */
	for (size_t i = 0; i < FETCHES_MAX; i++)
		fetch_transfer_free(s->places[i].transfer);
	s->world.curl = curl_loop_free(s->world.curl);
	held_keys_done(&s->keys);
	fetch_settings_done(&s->world.settings);
	free(s);
}
