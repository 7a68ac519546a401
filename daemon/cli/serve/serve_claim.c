/*
 * serve_claim.c - what a claim changes in an unclaimed daemon: settings, incarnation, hosted
 * servers, webhooks.
 *
 * Settings are applied to a copy of the configuration, through the table of options, and checked before serve_set, which
 * cannot fail. The caller drops the copy after an error, so a claim takes effect completely or not at all. config_done frees
 * both configurations, so every text is duplicated before the first change. A setting that confines sessions can only become
 * stricter: the order of the words in the option's row defines which is stricter (CLAIM_LATER_WORD, CLAIM_EARLIER_WORD).
 *
 * What must not be in two copies of the same memory is made at the claim: the incarnation first, then the servers that the
 * daemon hosts. A claim comes (net/claim/claim.h) by the control socket, by E2B's access token, or by the token file, which is
 * watched, because a daemon may be older than its file. An invalid file is named in the log and waited for again. The file is
 * read only while the daemon is unclaimed; SIGHUP reads it at any time. After acpd restart the claim is repeated first, then
 * the token file, which may have changed since.
 */
#include "cli/serve/serve.h"

#include "base/log.h"
#include "cli/options/cli_options.h"
#include "http/isolation.h"
#include "json/json.h"

/* --- settings -------------------------------------------------------------------------------------------------- */

/* config_done frees it. */
static void claim_copy_config(struct config *to, const struct config *from)
{
	*to = *from;
	for (size_t i = 0; i < option_rows_n; i++) {
		char **copy = option_slot(to, &option_rows[i]);
		char *const *text = option_slot(from, &option_rows[i]);

		/* two rows may share a member */
		if (option_is_text(&option_rows[i]) && *copy == *text)
			*copy = xstrdup(*text);
	}
}

static bool is_weaker(const struct option_row *r, const char *old, const char *word)
{
	int by = option_word_place(r->words, word) - option_word_place(r->words, old);

	return (r->claim == CLAIM_LATER_WORD && by < 0) ||
	       (r->claim == CLAIM_EARLIER_WORD && by > 0);
}

static int claim_option(struct config *c, const char *name, const char *value, bool *seen,
			struct err *e)
{
	const struct option_row *r = option_find(SCOPE_SERVE, name, strlen(name));
	const char *field = SHORT_TEXT(64, "settings.%s", name);

	if (!r)
		return err_field(e, field, "SETTING_UNKNOWN", "%s: there is no such setting", name);
	if (r->claim == CLAIM_NEVER)
		return err_field(e, field, "SETTING_NOT_CLAIMABLE",
				 "%s can only be set where the daemon is started", name);
	if (seen[r - option_rows])
		return err_field(e, field, "OPTION_INVALID", "%s is given twice", name);
	seen[r - option_rows] = true;
	if (r->claim != CLAIM_ANY) {
		_cleanup_(freep) char *old = xstrdup(*(char **)option_slot(c, r));

		if (option_set(c, r, value, e) == 0 && is_weaker(r, old, value))
			return err_field(
				e, field, "SETTING_WEAKER",
				"%s: the daemon was started with %s, and a claim can only be stricter",
				name, old);
	} else {
		(void)option_set(c, r, value, e);
	}
	if (!e->reason[0])
		return 0;
	snprintf(e->field, sizeof(e->field), "%s", field);
	return -EINVAL;
}

/* As argv would have it. */
static int claim_setting_text(struct jval v, char **ret)
{
	if (v.type == J_STRING)
		return jstr_decode(v, SETTING_VALUE_MAX, ret);
	if (v.type != J_NUMBER && v.type != J_TRUE && v.type != J_FALSE)
		return -EINVAL;
	*ret = xstrndup(v.raw.p, v.raw.n);
	return 0;
}

static int claim_member(struct config *c, struct slice key, struct jval v, bool *seen,
			struct err *e)
{
	_cleanup_(freep) char *name = xstrndup(key.p, MIN(key.n, SETTING_NAME_MAX)), *value = NULL;

	if (claim_setting_text(v, &value) == 0)
		return claim_option(c, name, value, seen, e);
	return err_field(e, SHORT_TEXT(64, "settings.%s", name), "OPTION_INVALID",
			 "%s must be a string of at most %d bytes, a number or a boolean", name,
			 SETTING_VALUE_MAX);
}

/* settings: a raw JSON object {NAME: string, number or boolean}, or empty. 0, or -EINVAL with e naming
 * "settings.NAME": SETTING_UNKNOWN, SETTING_NOT_CLAIMABLE, SETTING_WEAKER, OPTION_INVALID. c may be half changed then. */
static int config_claim(struct config *c, struct slice settings, struct err *e)
{
	bool seen[OPTION_ROWS_MAX] = { false };

	*e = (struct err){ 0 };
	jobj_each(key, v, settings)
		if (claim_member(c, key, v, seen, e) < 0)
			return -EINVAL;
	return 0;
}

/* --- the claim ------------------------------------------------------------------------------------------------- */

int serve_claim_begin(struct daemon *d, struct webhook_list *webhooks, struct err *e)
{
	/* First: what starts below belongs to the new incarnation. */
	if (store_mint_incarnation(d->store, e) < 0)
		return -EIO;
	hosting_begin(d);
	serve_webhooks_begin(d, webhooks);
	lifecycle_claimed(d->life, true);
	return 0;
}

/* All of them or none. */
static int take_settings(struct daemon *d, const struct claim_request *c,
			 struct webhook_list *webhooks, struct err *e)
{
	struct config next;
	int r;

	claim_copy_config(&next, d->cfg);
	r = config_claim(&next, c->settings, e);
	if (r == 0)
		r = serve_check_claim(&next, &d->harnesses, e);
	if (r == 0)
		r = serve_webhooks_parse(&next, c->webhooks, webhooks, e);
	if (r < 0) {
		config_done(&next);
		return r;
	}
	config_done(&d->claimed);
	d->claimed = next;
	d->cfg = &d->claimed;
	serve_set(d);
	return 0;
}

static int on_claim(void *ctx, const struct claim_request *c, struct err *e)
{
	struct webhook_list webhooks = { .n = 0 };
	struct daemon *d = ctx;
	int r = 0;

	if (d->stopping)
		return err_set(e, -ESHUTDOWN, RPC_INVALID_REQUEST, "SHUTTING_DOWN",
			       "the daemon is shutting down");
	if (c->settings.n || c->webhooks.n)
		r = take_settings(d, c, &webhooks, e);
	if (r == 0)
		r = serve_claim_begin(d, c->webhooks.n ? &webhooks : NULL, e);
	webhook_list_done(&webhooks);
	if (r < 0)
		return r;
	isolation_log(d->store); /* an image may have changed since the start */
	return 0;
}

static void on_token_file(void *ctx)
{
	struct daemon *d = ctx;
	struct err e = { 0 };
	int r;

	if (!claim_desk_open(d->desk) || d->stopping)
		return;
	r = claim_desk_load(d->desk, d->cfg->token_file, true, &e);
	if (r < 0 && r != -ENOENT)
		log_warn("serve", "the token file claims nothing", "reason", e.reason, "text",
			 e.msg);
}

void serve_claim_open(struct daemon *d)
{
	const struct config *c = d->cfg;

	d->desk = claim_desk_new(d->admission, on_claim, d);
	if (c->claim_e2b)
		d->e2b = e2b_claim_new(d->loop, c->metadata_url, d->desk);
	if (!c->token_file)
		return;
	d->token_watch = file_watch_new(d->loop, c->token_file, on_token_file, d);
	if (!d->token_watch)
		log_warn("serve", "the token file is not watched: SIGHUP makes it read", "text",
			 strerror(errno));
}

void serve_claim_close(struct daemon *d)
{
	d->token_watch = file_watch_free(d->token_watch);
	d->e2b = e2b_claim_free(d->e2b);
	serve_webhooks_close(d);
	d->desk = claim_desk_free(d->desk);
	config_done(&d->claimed);
}

static int resume_claim(struct daemon *d, struct slice claim, struct err *e)
{
	struct claim_request c;
	int r = claim_request_parse(claim, &c, e);

	if (r < 0)
		return r;
	r = claim_desk_take(d->desk, &c, "restart", e);
	claim_request_done(&c);
	return r;
}

static void reload_token(struct daemon *d)
{
	struct err e = { 0 };
	int r = d->cfg->token_file ? claim_desk_load(d->desk, d->cfg->token_file, false, &e) :
				     -ENOENT;

	if (r < 0 && r != -ENOENT)
		log_error("serve", "token file not read", "text", e.msg);
	else
		log_info("serve", "token file read", "claimed",
			 claim_desk_open(d->desk) ? "false" : "true");
}

int serve_claim_resume(struct daemon *d, struct slice claim, struct err *e)
{
	if (claim.n && resume_claim(d, claim, e) < 0)
		return -EINVAL;
	if (d->cfg->token_file)
		reload_token(d);
	return 0;
}

void serve_claim_reload(struct daemon *d)
{
	serve_webhooks_reload(d);
	reload_token(d);
}
