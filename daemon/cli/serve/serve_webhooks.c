/*
 * serve_webhooks.c - decides when the file of --webhook or the list of a claim replaces the receivers.
 *
 * The file is read when the daemon is claimed, when it is written after that, and at SIGHUP. It can appear after the
 * start, perhaps after the restore of a snapshot, so a missing file is not an error; acpd-fetch must exist at the
 * start. A list is applied completely or not at all: after an invalid file, which the log names, the current receivers
 * stay. In a copy of a sandbox the file is `stale` until it is written again, because it belongs to the original.
 */
#include "cli/serve/serve.h"

#include "base/log.h"

#include <errno.h>

/* Whatever the file says: it may come late, and acpd-fetch does not. */
static int check_program(struct err *e)
{
	static const struct webhook_list one = { .n = 1 };

	return outbox_check(&one, e);
}

int serve_webhooks_check(const struct config *c, struct err *e)
{
	struct webhook_list l;
	int r;

	if (c->webhook_keep.bytes && c->webhook_keep.bytes < (int64_t)WEBHOOK_SPOOL_MIN)
		return err_field(e, "webhook-keep", "OPTION_INVALID",
				 "--webhook-keep: less than %lu bytes", WEBHOOK_SPOOL_MIN);
	if (!c->webhook)
		return 0;
	if (check_program(e) < 0)
		return -ENOENT;
	r = webhook_list_read(c->webhook, c->upstream_allow, &l, e);
	webhook_list_done(&l);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		err_wrap(e, "--webhook");
	return r;
}

int serve_webhooks_parse(const struct config *c, struct slice array, struct webhook_list *ret,
			 struct err *e)
{
	int r;

	*ret = (struct webhook_list){ .n = 0 };
	if (!array.n)
		return 0;
	if (c->webhook)
		return err_field(e, "webhooks", "SETTING_NOT_CLAIMABLE",
				 "webhooks: the daemon was started with --webhook");
	r = webhook_list_parse(array, "webhooks", c->upstream_allow, ret, e);
	if (r == 0)
		r = outbox_check(ret, e);
	if (r < 0)
		webhook_list_done(ret);
	return r;
}

static void webhooks_load(struct serve_webhooks *w)
{
	struct webhook_list l;
	struct err e = { 0 };
	int r = webhook_list_read(w->path, w->allow, &l, &e);

	if (r == -ENOENT)
		log_info("serve", "no receivers of webhooks: the file is not there", "path",
			 w->path);
	else if (r < 0)
		log_error("serve", "the file of webhooks is not taken", "reason", e.reason, "field",
			  e.field, "text", e.msg);
	else
		outbox_set(w->outbox, &l);
}

static void on_webhook_file(void *ctx)
{
	struct serve_webhooks *w = ctx;

	w->stale = false;
	if (w->claimed)
		webhooks_load(w);
}

void serve_webhooks_open(struct serve_webhooks *w, const struct config *c, struct loop *loop,
			 struct outbox *outbox)
{
	w->outbox = outbox;
	w->path = c->webhook;
	w->allow = c->upstream_allow;
	if (!w->path)
		return;
	w->watch = file_watch_new(loop, w->path, on_webhook_file, w);
	if (!w->watch)
		log_warn("serve", "the file of webhooks is not watched: SIGHUP makes it read",
			 "text", strerror(errno));
}

void serve_webhooks_close(struct serve_webhooks *w)
{
	w->watch = file_watch_free(w->watch);
}

void serve_webhooks_begin(struct serve_webhooks *w, const struct config *c,
			  struct webhook_list *list)
{
	w->claimed = true;
	w->allow = c->upstream_allow;
	outbox_claimed(w->outbox);
	if (list)
		outbox_set(w->outbox, list);
	else if (w->path && !w->stale)
		webhooks_load(w);
}

void serve_webhooks_reload(struct serve_webhooks *w)
{
	if (w->path)
		on_webhook_file(w);
}

void serve_webhooks_forget(struct serve_webhooks *w)
{
	w->claimed = false;
	w->stale = true;
	outbox_forget(w->outbox);
}
