#include "fetcher/fetcher_internal.h"

#include "base/http/header.h"
#include "base/os/locked.h"

#include <errno.h>

static bool has_control(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
			return true;
	return false;
}

static char *put(char *at, const char *s)
{
	return (char *)mempcpy(at, s, strlen(s) + 1);
}

static int check(const struct fetcher *f, const char *name, const char *prefix, struct slice value,
		 struct err *e)
{
	if (!header_name_ok(slice_of(name)) || !header_value_ok(prefix))
		return err_field(e, "auth", "PARAM_INVALID",
				 "not the name and the beginning of a header");
	if (!value.n || has_control(value) ||
	    strlen(name) + strlen(prefix) + value.n > FETCH_HEAD_MAX)
		return err_field(e, "key", "PARAM_INVALID",
				 "no value that a header can have, or too long");
	if (f->nkeys == FETCH_KEYS_MAX)
		return err_set(e, -ENOSPC, RPC_INTERNAL_ERROR, "TOO_MANY_KEYS",
			       "%d keys are in use", FETCH_KEYS_MAX);
	return 0;
}

struct fetch_key *fetch_key_new(struct fetcher *f, const char *name, const char *prefix,
				struct slice value, struct err *e)
{
	struct fetch_key *k;
	char *at;

	if (check(f, name, prefix, value, e) < 0)
		return NULL;
	k = new0(struct fetch_key);
	k->size = strlen(name) + 1 + strlen(prefix) + 1 + value.n;
	k->locked = locked_alloc(k->size);
	if (!k->locked) {
		free(k);
		err_set(e, -ENOMEM, RPC_INTERNAL_ERROR, "NO_LOCKED_MEMORY",
			"no memory can be locked for a key (RLIMIT_MEMLOCK)");
		return NULL;
	}
	at = put(put(k->locked, name), prefix);
	memcpy(at, value.p, value.n);
	k->fetcher = f;
	k->number = ++f->last_key;
	f->nkeys++;
	list_init(&k->link);
	list_add_tail(&f->keys, &k->link);
	return k;
}

struct fetch_key *fetch_key_free(struct fetch_key *k)
{
	struct fetch_run *run;

	if (!k)
		return NULL;
	run = k->fetcher->run;
	if (run && k->given_to == run->serial)
		fetch_channel_send(&run->channel, FRAME_KEY_DROP, k->number, SLICE_NONE, -1);
	k->fetcher->nkeys--;
	list_del(&k->link);
	locked_free(k->locked, k->size);
	free(k);
	return NULL;
}

void fetch_key_give(struct fetch_key *k, struct fetch_run *run)
{
	if (k->given_to == run->serial)
		return;
	fetch_channel_secret(&run->channel, FRAME_KEY, k->number,
			     (struct slice){ k->locked, k->size });
	k->given_to = run->serial;
}
