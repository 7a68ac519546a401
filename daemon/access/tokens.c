/*
 * tokens.c - the minted tokens of the current claim: their list, their file, their expiry.
 *
 * A token ends in two steps. end_token denies it at once and moves it to `ended`. A deferred task
 * then cuts its connections, because the call that revokes a token can arrive on one of them. The
 * file must never restore an ended token: if it cannot be rewritten, it is deleted, and a restart
 * loses all tokens instead. Expiry follows the wall clock, which can be set, so the timer fires at
 * least once a minute.
 */
#include "access/tokens.h"

#include "access/token_file.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/os/file.h"

#define TOKEN_BYTES 32
#define TOKEN_ID_BYTES 8
#define LOOK_AGAIN_MS 60000 /* the wall clock may be set meanwhile */

struct tokens {
	struct loop *loop;
	struct tokens_config cfg;
	char *path;
	struct sha256 claim; /* as the file has it */
	bool claimed;
	struct list list;  /* struct token, the oldest first */
	struct list ended; /* their grants are still to be cut */
	struct loop_timer expiry;
	struct loop_task cut_task;
	uint64_t counts[DOOR_MAX][GRANT_MAX + 1][2];
};

struct tokens *tokens_new(const struct tokens_config *cfg)
{
	struct tokens *t = new0(struct tokens);

	t->loop = cfg->loop;
	t->cfg = *cfg;
	t->cfg.state = NULL;
	t->path = file_join(cfg->state, "tokens");
	list_init(&t->list);
	list_init(&t->ended);
	return t;
}

static void token_list_free(struct list *tokens)
{
	list_each(k, tokens, struct token, link)
		token_free(k);
}

struct tokens *tokens_free(struct tokens *t)
{
	if (!t)
		return NULL;
	loop_timer_cancel(&t->expiry);
	loop_task_cancel(&t->cut_task);
	token_list_free(&t->list);
	token_list_free(&t->ended);
	secret_wipe(&t->claim, sizeof(t->claim));
	free_each(t->path, t);
	return NULL;
}

unsigned tokens_count(const struct tokens *t)
{
	unsigned n = 0;

	list_each(k, (struct list *)&t->list, struct token, link)
		n++;
	return n;
}

/* --- the end of a token ------------------------------------------------------------------------------------------- */

static void on_tokens_cut(void *ctx)
{
	struct tokens *t = ctx;

	list_drain(k, &t->ended, struct token, link) {
		grant_cut(k->grant, k->why);
		token_free(k);
	}
}

/* why: what its connections are told. */
static void end_token(struct tokens *t, struct token *k, const char *why)
{
	grant_end(k->grant);
	/* Out of the list at once: no lookup finds it from now on. */
	list_del(&k->link);
	list_add_tail(&t->ended, &k->link);
	k->why = why;
	loop_defer(t->loop, &t->cut_task, on_tokens_cut, t);
}

static void on_expiry(void *ctx);

static void watch_expiry(struct tokens *t)
{
	uint64_t now = clock_real_ms(), next = LOOK_AGAIN_MS;

	list_each(k, &t->list, struct token, link)
		next = MIN(next, k->expires_ms > now ? k->expires_ms - now : 0);
	if (list_empty(&t->list))
		loop_timer_cancel(&t->expiry);
	else
		loop_timer_set(t->loop, &t->expiry, next + 1, on_expiry, t);
}

static void on_expiry(void *ctx)
{
	struct tokens *t = ctx;
	uint64_t now = clock_real_ms();

	list_each(k, &t->list, struct token, link) {
		if (k->expires_ms > now)
			continue;
		log_info("access", "token expired", "token", k->id, "scope",
			 grant_scope_word(k->scope));
		end_token(t, k, "Token expired");
	}
	watch_expiry(t);
}

void tokens_clock_jumped(struct tokens *t)
{
	on_expiry(t);
}

/* --- the claim that they belong to -------------------------------------------------------------------------------- */

static void tokens_report(struct tokens *t, const char *text)
{
	t->cfg.problem(t->cfg.ctx, "tokens", text);
}

static void set_aside(struct tokens *t)
{
	_cleanup_(freep) char *path =
		xprintf("%s.damaged-%llu", t->path, (unsigned long long)clock_real_ms());

	if (rename(t->path, path) < 0)
		(void)unlink(t->path);
	tokens_report(
		t,
		"the file of minted tokens was not as it was written: it was set aside, and none of them holds");
}

static struct grant *grant_for(const struct token *k)
{
	struct grant *g = grant_new(k->scope, k->id, k->sessions, k->nsessions);

	grant_set_ceiling(g, k->ceiling);
	return g;
}

static void tokens_take_file(struct tokens *t, struct list *found)
{
	uint64_t now = clock_real_ms();

	list_each(k, found, struct token, link) {
		if (k->expires_ms <= now) {
			token_free(k);
			continue;
		}
		k->grant = grant_for(k);
		list_del(&k->link);
		list_add_tail(&t->list, &k->link);
	}
}

static void tokens_load(struct tokens *t)
{
	struct list found = LIST_INIT(found);
	struct sha256 claim = { { 0 } };
	int r = token_file_read(t->path, &claim, &found);

	if (r == 0 && sha256_equal(&claim, &t->claim)) {
		tokens_take_file(t, &found);
		log_info("access", "minted tokens hold again");
	} else if (r == 0) {
		(void)unlink(t->path);
		log_info("access", "the tokens of another claim are dropped");
	} else if (r == -EBADMSG) {
		set_aside(t);
	} else if (r != -ENOENT) {
		tokens_report(t, "the file of minted tokens cannot be read: none of them holds");
	}
	token_list_free(&found);
	watch_expiry(t);
}

static void tokens_drop_all(struct tokens *t, const char *why)
{
	list_each(k, &t->list, struct token, link)
		end_token(t, k, why);
	secret_wipe(&t->claim, sizeof(t->claim));
	t->claimed = false;
	loop_timer_cancel(&t->expiry);
	(void)unlink(t->path);
}

/* A file that is out of date may bring back what has ended: rather none holds after a restart. */
static int update_file(struct tokens *t)
{
	int r = token_file_write(t->path, &t->claim, &t->list);

	if (r == 0)
		return 0;
	/* It can neither be written nor removed: the caller has to report that. */
	if (unlink(t->path) < 0 && errno != ENOENT)
		return r;
	tokens_report(
		t,
		"the file of minted tokens cannot be written: it was removed, and none outlasts the daemon");
	return 0;
}

void tokens_begin(struct tokens *t, const struct sha256 *claim, bool keep)
{
	struct sha256 own;

	if (!t || sha256_of((struct slice){ (const char *)claim->bytes, SHA256_BYTES }, &own) < 0)
		return;
	/* The same claim again: its tokens are those that are held. */
	if (t->claimed && sha256_equal(&own, &t->claim))
		return;
	/* Without a previous claim there are no tokens to keep. */
	keep = keep && t->claimed;
	if (t->claimed && !keep)
		tokens_drop_all(t, "Token replaced");
	t->claim = own;
	t->claimed = true;
	if (!keep)
		tokens_load(t);
	else if (update_file(t) < 0)
		tokens_report(
			t, "the file of minted tokens cannot be written: none outlasts the daemon");
}

void tokens_forget(struct tokens *t)
{
	if (t)
		tokens_drop_all(t, "Token revoked");
}

const struct grant *tokens_find(const struct tokens *t, const struct sha256 *digest)
{
	const struct token *found = NULL;

	if (!t)
		return NULL;
	/* all of them, whichever it is */
	list_each(k, (struct list *)&t->list, struct token, link)
		if (sha256_equal(&k->digest, digest))
			found = k;
	return found && found->expires_ms > clock_real_ms() ? found->grant : NULL;
}

/* --- minting and revoking ----------------------------------------------------------------------------------------- */

static int write_error(int r, struct err *e)
{
	return err_set(e, r, RPC_INTERNAL_ERROR,
		       r == -ENOSPC || r == -EDQUOT ? "NO_SPACE" : "STATE_NOT_WRITABLE",
		       "the token cannot be written down: %s", strerror(-r));
}

/* The text is the only copy of it. */
static int token_generate(struct token *k, char text[TOKEN_TEXT_SIZE], struct err *e)
{
	char hex[2 * TOKEN_BYTES + 1], id[2 * TOKEN_ID_BYTES + 1];

	random_hex(hex, TOKEN_BYTES);
	random_hex(id, TOKEN_ID_BYTES);
	snprintf(text, TOKEN_TEXT_SIZE, "acpd_%s", hex);
	secret_wipe(hex, sizeof(hex));
	k->id = xalloc(TOKEN_ID_SIZE);
	snprintf(k->id, TOKEN_ID_SIZE, "tok_%s", id);
	k->created_ms = clock_real_ms();
	if (sha256_of(slice_of(text), &k->digest) == 0)
		return 0;
	return err_set(e, -EIO, RPC_INTERNAL_ERROR, "INTERNAL", "no digest can be made");
}

static int token_add(struct tokens *t, struct token *k, char text[TOKEN_TEXT_SIZE], struct err *e)
{
	int r = token_generate(k, text, e);

	if (r < 0)
		return r;
	/* Listed first, since the file has all of the list; after an error the caller frees it, and so unlists it. */
	k->grant = grant_for(k);
	list_add_tail(&t->list, &k->link);
	r = token_file_write(t->path, &t->claim, &t->list);
	return r < 0 ? write_error(r, e) : 0;
}

static void token_put_members(struct jw *w, const struct token *k)
{
	jw_str(w, "scope", grant_scope_word(k->scope));
	if (k->nsessions)
		jw_arr(w, "sessions");
	for (size_t i = 0; i < k->nsessions; i++)
		jw_str(w, NULL, k->sessions[i]);
	if (k->nsessions)
		jw_end_arr(w);
	if (k->ceiling)
		jw_members(w, slice_of(k->ceiling), NULL);
	jw_str(w, "expiresAt", CLOCK_ISO(k->expires_ms));
	jw_str(w, "createdAt", CLOCK_ISO(k->created_ms));
	jw_str(w, "label", k->label);
}

int tokens_mint(struct tokens *t, struct slice params, const char *by, struct jw *w, struct err *e)
{
	char text[TOKEN_TEXT_SIZE];
	struct token *k = NULL;
	int r = 0;

	if (!t->claimed)
		return err_set(e, -EAGAIN, RPC_INVALID_REQUEST, "UNCLAIMED",
			       "the daemon has no token yet");
	r = token_order_parse(
		params, &(struct token_rules){ t->cfg.known, t->cfg.ceiling, t->cfg.ctx }, &k, e);
	if (r == 0 && tokens_count(t) >= TOKENS_MAX)
		r = err_set(e, -EBUSY, RPC_INVALID_REQUEST, "TOO_MANY_TOKENS",
			    "%d tokens hold already", TOKENS_MAX);
	if (r == 0)
		r = token_add(t, k, text, e);
	if (r < 0) {
		token_free(k);
		return r;
	}
	log_info("access", "token minted", "token", k->id, "scope", grant_scope_word(k->scope),
		 "by", by);
	watch_expiry(t);
	jw_str(w, "id", k->id);
	jw_str(w, "token", text);
	token_put_members(w, k);
	/* The answer has the only copy. */
	secret_wipe(text, sizeof(text));
	return 0;
}

void tokens_put(const struct tokens *t, struct jw *w)
{
	uint64_t now = clock_real_ms();

	jw_arr(w, "tokens");
	list_each(k, (struct list *)&t->list, struct token, link) {
		if (k->expires_ms <= now)
			continue;
		jw_obj(w, NULL);
		jw_str(w, "id", k->id);
		token_put_members(w, k);
		jw_uint(w, "connections", grant_connections(k->grant));
		jw_end_obj(w);
	}
	jw_end_arr(w);
}

int tokens_revoke(struct tokens *t, const char *id, const char *by, struct err *e)
{
	list_each(k, &t->list, struct token, link) {
		int r;

		if (strcmp(k->id, id) != 0)
			continue;
		log_info("access", "token revoked", "token", k->id, "by", by);
		/* Before the write: the token ends even if its file cannot be updated. */
		end_token(t, k, "Token revoked");
		watch_expiry(t);
		r = update_file(t);
		return r < 0 ? write_error(r, e) : 0;
	}
	return err_field(e, "id", "TOKEN_UNKNOWN", "there is no such token");
}

/* --- counts --------------------------------------------------------------------------------------------------------- */

const char *door_word(enum door d)
{
	static const char *const words[DOOR_MAX] = {
		[DOOR_WEBSOCKET] = "websocket", [DOOR_HTTP] = "http", [DOOR_LOCAL] = "local"
	};

	return words[d];
}

void tokens_note(struct tokens *t, enum door d, const struct grant *g, bool in)
{
	if (t)
		t->counts[d][g ? grant_scope(g) : GRANT_MAX][in]++;
}

uint64_t tokens_noted(const struct tokens *t, enum door d, enum grant_scope scope, bool in)
{
	return t->counts[d][scope][in];
}
