#include "fetcher/fetcher.h"

#include <errno.h>

struct fetcher {
	struct fetcher_config cfg;
};

struct fetch_key {
	struct fetcher *fetcher;
};

struct fetch {
	const struct fetch_ops *ops;
	void *ctx;
	struct loop_task task;
};

struct fetcher *fetcher_new(const struct fetcher_config *cfg)
{
	struct fetcher *f = new0(struct fetcher);

	f->cfg = *cfg;
	return f;
}

struct fetcher *fetcher_free(struct fetcher *f)
{
	free(f);
	return NULL;
}

struct fetch_key *fetch_key_new(struct fetcher *f, const char *name, const char *prefix,
				struct slice value, struct err *e)
{
	struct fetch_key *k = new0(struct fetch_key);

	if (!*name || !value.n || strlen(prefix) > FETCH_HEAD_MAX) {
		free(k);
		err_set(e, -EINVAL, RPC_INVALID_PARAMS, "PARAM_INVALID", "no header");
		return NULL;
	}
	k->fetcher = f;
	return k;
}

struct fetch_key *fetch_key_free(struct fetch_key *k)
{
	free(k);
	return NULL;
}

static void unavailable(void *ctx)
{
	struct fetch *x = ctx;

	x->ops->end(x->ctx, FETCH_UNAVAILABLE, "acpd-fetch is not installed");
}

struct fetch *fetch_open(struct fetcher *f, const struct fetch_request *r,
			 const struct fetch_ops *ops, void *ctx, struct err *e)
{
	struct fetch *x;

	if (r->body.n > FETCH_BODY_MAX) {
		err_set(e, -E2BIG, RPC_INVALID_PARAMS, "BODY_TOO_LARGE", "the body is too large");
		return NULL;
	}
	x = new0(struct fetch);
	x->ops = ops;
	x->ctx = ctx;
	loop_defer(f->cfg.loop, &x->task, unavailable, x);
	return x;
}

void fetch_taken(struct fetch *x _unused_, size_t n _unused_)
{
}

struct fetch *fetch_close(struct fetch *x)
{
	if (!x)
		return NULL;
	loop_task_cancel(&x->task);
	free(x);
	return NULL;
}
