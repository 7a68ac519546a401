/*
 * claim.c - takes a claim: checks it, starts the life of the daemon, then stores the digest of the
 * token.
 *
 * Everything that can fail precedes admission_claim, so a daemon whose claim fails stays unclaimed.
 * The sandbox id is set first, because the parts that start read it, and is reset after a failure.
 * Settings, webhooks and id are stored: a repeated claim is compared with them, and acpd restart
 * passes them on. The callers decide who may claim.
 */
#include "net/claim/claim.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/os/locked.h"
#include "base/os/sandbox.h"
#include "json/jdec.h"

struct claim_desk {
	struct admission *admission;
	claim_begin_fn begin;
	void *ctx;
	char *settings, *sandbox_id;  /* of the claim that was taken */
	struct locked_text *webhooks; /* NULL: none */
};

static const struct jfield claim_fields[] = {
	JF_STR(struct claim_request, digest, "digest", JF_REQUIRED, 128),
	JF_OBJ(struct claim_request, settings, "settings", 0),
	JF_ARR(struct claim_request, webhooks, "webhooks", 0),
	JF_STR(struct claim_request, sandbox_id, "sandboxId", JF_FILLED, SANDBOX_ID_MAX),
	JF_BOOL(struct claim_request, replace, "replace", 0),
	JF_BOOL(struct claim_request, keep_tokens, "keepTokens", 0),
	JF_END,
};

struct claim_desk *claim_desk_new(struct admission *g, claim_begin_fn begin, void *ctx)
{
	struct claim_desk *k = new0(struct claim_desk);

	k->admission = g;
	k->begin = begin;
	k->ctx = ctx;
	return k;
}

struct claim_desk *claim_desk_free(struct claim_desk *k)
{
	if (!k)
		return NULL;
	locked_text_unref(k->webhooks);
	free_each(k->settings, k->sandbox_id, k);
	return NULL;
}

bool claim_desk_open(const struct claim_desk *k)
{
	return !admission_claimed(k->admission);
}

int claim_request_parse(struct slice params, struct claim_request *ret, struct err *e)
{
	int r;

	*ret = (struct claim_request){ 0 };
	r = jdec_strict(params, claim_fields, NULL, "a claim has no such member", ret, e);
	if (r < 0)
		return r;
	if (ret->settings.n > CLAIM_SETTINGS_MAX)
		r = err_field(e, "settings", "SETTINGS_TOO_LARGE",
			      "settings have more than %d bytes", CLAIM_SETTINGS_MAX);
	else if (ret->webhooks.n > WEBHOOK_FILE_MAX)
		r = err_field(e, "webhooks", "SETTINGS_TOO_LARGE",
			      "webhooks have more than %lu bytes", WEBHOOK_FILE_MAX);
	else if (ret->sandbox_id && !sandbox_id_valid(ret->sandbox_id))
		r = err_field(e, "sandboxId", "SANDBOX_ID_INVALID",
			      "sandboxId has letters, digits and \"._:-\", at most %d",
			      SANDBOX_ID_MAX);
	if (r < 0)
		claim_request_done(ret);
	return r;
}

void claim_request_done(struct claim_request *c)
{
	jdec_free(claim_fields, c);
	*c = (struct claim_request){ 0 };
}

static bool says_the_same(const char *had, struct slice now)
{
	return !now.n || (had && slice_is(now, had));
}

static bool same_webhooks(const struct claim_desk *k, struct slice now)
{
	return !now.n || (k->webhooks && slice_eq(now, locked_text_slice(k->webhooks)));
}

/* Who repeats a claim may leave out what he said, and may not say anything else. */
static int claim_take_again(const struct claim_desk *k, const struct claim_request *c,
			    struct err *e)
{
	if (says_the_same(k->settings, c->settings) && same_webhooks(k, c->webhooks) &&
	    (!c->sandbox_id || says_the_same(k->sandbox_id, slice_of(c->sandbox_id))))
		return 0;
	return err_set(e, -EALREADY, RPC_INVALID_REQUEST, "ALREADY_CLAIMED",
		       "the daemon is claimed with this token, and with other settings");
}

static int take_first(struct claim_desk *k, const struct claim_request *c, const char *root,
		      struct err *e)
{
	bool again = admission_claimed(k->admission);
	int r = admission_claim_check(k->admission, slice_of(c->digest), e);

	if (r < 0 || again)
		return r < 0 ? r : claim_take_again(k, c, e);
	if (c->sandbox_id)
		sandbox_id_set(c->sandbox_id);
	r = k->begin(k->ctx, c, e);
	if (r < 0) {
		sandbox_id_set(NULL);
		return r;
	}
	free(k->settings);
	locked_text_unref(k->webhooks);
	k->webhooks = c->webhooks.n ? locked_text_new(c->webhooks) : NULL;
	k->settings = c->settings.n ? xstrndup(c->settings.p, c->settings.n) : NULL;
	xstrset(&k->sandbox_id, c->sandbox_id);
	r = admission_claim(k->admission, slice_of(c->digest), e);
	log_info("net", "claimed", "by", root);
	return r;
}

int claim_desk_take(struct claim_desk *k, const struct claim_request *c, const char *root,
		    struct err *e)
{
	if (c->replace || c->keep_tokens)
		return err_field(e, c->replace ? "replace" : "keepTokens", "PARAM_UNSUPPORTED",
				 c->replace ?
					 "replace: only root over control.sock replaces a token" :
					 "keepTokens: only with replace");
	return take_first(k, c, root, e);
}

int claim_desk_replace(struct claim_desk *k, const struct claim_request *c, const char *root,
		       struct err *e)
{
	const char *more = c->settings.n ? "settings" :
			   c->webhooks.n ? "webhooks" :
			   c->sandbox_id ? "sandboxId" :
					   NULL;
	int r;

	if (more)
		return err_field(e, more, "PARAM_UNSUPPORTED",
				 "%s: replacing a token changes no settings", more);
	if (!admission_claimed(k->admission))
		return take_first(k, c, root, e);
	r = admission_replace(k->admission, slice_of(c->digest), c->keep_tokens, e);
	if (r == 0)
		log_info("net", "token replaced", "by", root, "mintedTokens",
			 c->keep_tokens ? "kept" : "dropped");
	return r;
}

void claim_desk_put(const struct claim_desk *k, struct jw *w)
{
	if (!admission_claimed(k->admission))
		return;
	jw_obj(w, "claim");
	admission_put_digest(k->admission, w);
	if (k->settings)
		jw_raw(w, "settings", slice_of(k->settings));
	if (k->webhooks)
		jw_raw(w, "webhooks", locked_text_slice(k->webhooks));
	jw_str(w, "sandboxId", k->sandbox_id);
	jw_end_obj(w);
}

void claim_desk_forget(struct claim_desk *k)
{
	k->webhooks = locked_text_unref(k->webhooks);
	xstrset(&k->settings, NULL);
	xstrset(&k->sandbox_id, NULL);
}

int claim_desk_load(struct claim_desk *k, const char *path, bool appeared, struct err *e)
{
	struct sha256 token;
	int r = admission_read(k->admission, path, appeared, &token, e);

	/* An unchanged file must not replace a token that control.sock has set since it was read. */
	if (r < 0 || (!admission_file_changed(k->admission, &token) && !claim_desk_open(k)))
		return r;
	if (claim_desk_open(k)) {
		r = k->begin(k->ctx, &(struct claim_request){ 0 }, e);
		if (r == 0)
			log_info("net", "claimed", "by", "token file");
	}
	if (r == 0)
		admission_set_token(k->admission, &token, false);
	return r;
}
