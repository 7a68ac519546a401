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

static void webhooks_load(struct daemon *d)
{
	const char *path = d->cfg->webhook;
	struct webhook_list l;
	struct err e = { 0 };
	int r = webhook_list_read(path, d->cfg->upstream_allow, &l, &e);

	if (r == -ENOENT)
		log_info("serve", "no receivers of webhooks: the file is not there", "path", path);
	else if (r < 0)
		log_error("serve", "the file of webhooks is not taken", "reason", e.reason, "field",
			  e.field, "text", e.msg);
	else
		outbox_set(d->outbox, &l);
}

static void on_webhook_file(void *ctx)
{
	struct daemon *d = ctx;

	d->webhooks.stale = false;
	if (d->webhooks.claimed)
		webhooks_load(d);
}

void serve_webhooks_open(struct daemon *d)
{
	if (!d->cfg->webhook)
		return;
	d->webhooks.watch = file_watch_new(d->loop, d->cfg->webhook, on_webhook_file, d);
	if (!d->webhooks.watch)
		log_warn("serve", "the file of webhooks is not watched: SIGHUP makes it read",
			 "text", strerror(errno));
}

void serve_webhooks_close(struct daemon *d)
{
	d->webhooks.watch = file_watch_free(d->webhooks.watch);
}

void serve_webhooks_begin(struct daemon *d, struct webhook_list *list)
{
	d->webhooks.claimed = true;
	outbox_claimed(d->outbox);
	if (list)
		outbox_set(d->outbox, list);
	else if (d->cfg->webhook && !d->webhooks.stale)
		webhooks_load(d);
}

void serve_webhooks_reload(struct daemon *d)
{
	if (d->cfg->webhook)
		on_webhook_file(d);
}

void serve_webhooks_forget(struct daemon *d)
{
	d->webhooks.claimed = false;
	d->webhooks.stale = true;
	outbox_forget(d->outbox);
}
