/*
 * serve_webhooks.h - where the receivers of webhooks come from: the file of --webhook, or the claim.
 *
 * The file is read when the daemon is claimed, when it is written after that, and at SIGHUP; one that is not there names
 * nobody yet, as it may come after the restore of a snapshot. One that is wrong is named in the log, and the receivers that
 * there are stay. In a copy of a sandbox it says nothing until it is written anew: it was the other's.
 */
#pragma once

#include "cli/options/cli_options.h"
#include "loop/file_watch.h"
#include "outbox/outbox.h"

struct serve_webhooks {
	struct outbox *outbox;
	const char *path;  /* borrowed; NULL: no --webhook */
	const char *allow; /* of the configuration that holds */
	struct file_watch *watch;
	bool claimed, stale; /* stale: the file is another sandbox's */
};

/* At the start. What is in the file, if it is there; FETCH_UNAVAILABLE. -EINVAL or -ENOENT with e. */
int serve_webhooks_check(const struct config *c, struct err *e);
void serve_webhooks_open(struct serve_webhooks *w, const struct config *c, struct loop *loop,
			 struct outbox *outbox);
void serve_webhooks_close(struct serve_webhooks *w);
/* Checks what a claim brings; empty text is an empty list. */
int serve_webhooks_parse(const struct config *c, struct slice array, struct webhook_list *ret,
			 struct err *e);
/* The daemon is claimed; list: what the claim brings, taken over; NULL: nothing. */
void serve_webhooks_begin(struct serve_webhooks *w, const struct config *c,
			  struct webhook_list *list);
/* SIGHUP. */
void serve_webhooks_reload(struct serve_webhooks *w);
/* It is another sandbox now, and nobody has claimed it. */
void serve_webhooks_forget(struct serve_webhooks *w);
