/*
 * fetch_key.c - secret headers on the side of the daemon, and their delivery to acpd-fetch.
 *
 * A key is sent with the first request that needs it, once for each run: given_to is the serial of
 * the run that has it. The frame is built in a buffer of its final size, so no reallocation leaves
 * a copy, and is wiped after sending. A value with control characters is refused, because it could
 * add header lines.
 */
#include "fetcher/fetcher_internal.h"

#include "base/http/http_fields.h"
#include "base/os/locked.h"

static int fetch_key_check(const struct fetcher *f, const char *name, const char *prefix,
			   struct slice value, struct err *e)
{
	if (!header_name_ok(slice_of(name)) || !header_value_ok(prefix))
		return err_field(e, "auth", "PARAM_INVALID",
				 "not the name and the beginning of a header");
	if (!value.n || slice_has_control(value) ||
	    strlen(name) + strlen(prefix) + value.n > FETCH_HEAD_MAX)
		return err_field(e, "key", "PARAM_INVALID",
				 "no value that a header can have, or too long");
	if (f->nkeys == FETCH_KEYS_MAX)
		return err_set(e, -ENOSPC, RPC_INTERNAL_ERROR, "TOO_MANY_KEYS",
			       "%d keys are in use", FETCH_KEYS_MAX);
	return 0;
}

struct fetch_key *fetch_key_new(struct fetcher *f, const char *name, const char *prefix,
				struct locked_text *value, struct err *e)
{
	struct fetch_key *k;

	if (fetch_key_check(f, name, prefix, locked_text_slice(value), e) < 0)
		return NULL;
	k = new0(struct fetch_key);
	k->name = xstrdup(name);
	k->prefix = xstrdup(prefix);
	k->value = locked_text_ref(value);
	k->fetcher = f;
	k->number = ++f->last_key;
	f->nkeys++;
	list_add_tail(&f->keys, &k->link);
	return k;
}

struct fetch_key *fetch_key_free(struct fetch_key *k)
{
	struct standing_run *run;

	if (!k)
		return NULL;
	run = k->fetcher->helper.run;
	/* Another run never had it. */
	if (run && k->given_to == run->serial)
		frame_channel_send(&run->channel, FRAME_KEY_DROP, k->number, SLICE_NONE, -1);
	k->fetcher->nkeys--;
	list_del(&k->link);
	locked_text_unref(k->value);
	free_each(k->name, k->prefix, k);
	return NULL;
}

/* Its frame is put together in a buffer that does not move, and is wiped. */
static void send_key(const struct fetch_key *k, struct frame_channel *to)
{
	_cleanup_(secret_buf_done) struct buf b = { 0 };
	struct slice value = locked_text_slice(k->value);
	size_t name = strlen(k->name) + 1, prefix = strlen(k->prefix) + 1;

	if (buf_reserve(&b, name + prefix + value.n) < 0)
		return;
	buf_add(&b, k->name, name);
	buf_add(&b, k->prefix, prefix);
	buf_add_slice(&b, value);
	frame_channel_send(to, FRAME_KEY, k->number, buf_slice(&b), -1);
}

void fetch_key_give(struct fetch_key *k, struct standing_run *run)
{
	if (k->given_to == run->serial)
		return;
	send_key(k, &run->channel);
	k->given_to = run->serial;
}
