/*
 * token_file.c - reads and writes <state>/tokens, the minted tokens that survive a restart.
 *
 * Each write replaces the whole file. The head contains the number of tokens: a file that lost
 * whole lines still has valid checksums, and only the count reveals it. Reading is all or nothing.
 * A bad line, an unknown scope, a missing or an extra line is -EBADMSG, and tokens.c then uses no
 * token of the file. The file contains digests, never a token.
 */
#include "access/token_file.h"

#include "base/format/crc_line.h"
#include "base/limits.h"
#include "base/os/file.h"
#include "base/strv.h"
#include "json/json.h"

#define TOKENS_VERSION 1

struct token *token_free(struct token *t)
{
	if (!t)
		return NULL;
	strv_free_n(t->sessions, t->nsessions);
	free_each(t->id, t->label, t->ceiling);
	grant_unref(t->grant);
	list_del(&t->link);
	secret_wipe(&t->digest, sizeof(t->digest));
	free(t);
	return NULL;
}

/* --- writing -------------------------------------------------------------------------------------------------- */

static void token_put_line(struct buf *b, const struct token *t)
{
	size_t start = buf_len(b);
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_str(&w, "id", t->id);
	jw_str(&w, "digest", SHA256_HEX_OF(&t->digest));
	jw_str(&w, "scope", grant_scope_word(t->scope));
	jw_arr(&w, "sessions");
	for (size_t i = 0; i < t->nsessions; i++)
		jw_str(&w, NULL, t->sessions[i]);
	jw_end_arr(&w);
	jw_uint(&w, "expiresMs", t->expires_ms);
	jw_uint(&w, "createdMs", t->created_ms);
	jw_str(&w, "label", t->label);
	if (t->ceiling)
		jw_raw(&w, "ceiling", slice_of(t->ceiling));
	crc_line_end(b, start); /* closes the object, too */
}

int token_file_write(const char *path, const struct sha256 *claim, const struct list *tokens)
{
	_cleanup_(buf_done) struct buf b = { 0 }, lines = { 0 };
	struct jw w = JW(&b);
	unsigned n = 0;

	list_each(t, (struct list *)tokens, struct token, link) {
		token_put_line(&lines, t);
		n++;
	}
	jw_obj(&w, NULL);
	jw_uint(&w, "v", TOKENS_VERSION);
	jw_str(&w, "claim", SHA256_HEX_OF(claim));
	jw_uint(&w, "tokens", n);
	crc_line_end(&b, 0);
	buf_add_slice(&b, buf_slice(&lines));
	return b.failed || lines.failed ? -ENOMEM : file_replace(path, b.data, b.len, 0600);
}

/* --- reading -------------------------------------------------------------------------------------------------- */

struct token_line {
	char *id, *digest, *scope, *label;
	struct slice sessions, ceiling;
	int64_t expires, created;
};

static const struct jfield token_fields[] = {
	JF_STR(struct token_line, id, "id", JF_REQUIRED, 64),
	JF_STR(struct token_line, digest, "digest", JF_REQUIRED, SHA256_HEX),
	JF_STR(struct token_line, scope, "scope", JF_REQUIRED, 16),
	JF_ARR(struct token_line, sessions, "sessions", JF_REQUIRED),
	JF_INT(struct token_line, expires, "expiresMs", JF_REQUIRED, 0, INT64_MAX),
	JF_INT(struct token_line, created, "createdMs", JF_REQUIRED, 0, INT64_MAX),
	JF_STR(struct token_line, label, "label", JF_REQUIRED, TOKEN_LABEL_MAX),
	JF_OBJ(struct token_line, ceiling, "ceiling", 0),
	JF_END,
};

static int token_read_sessions(struct token *t, struct slice raw)
{
	t->sessions = xalloc(TOKEN_SESSIONS_MAX * sizeof(*t->sessions));
	jarr_each(v, raw)
		if (t->nsessions == TOKEN_SESSIONS_MAX ||
		    jstr_decode(v, RPC_ID_MAX, &t->sessions[t->nsessions++]) < 0)
			return -EBADMSG;
	return 0;
}

static int token_take_line(struct slice line, struct list *tokens)
{
	struct token_line l = { 0 };
	struct token *t;
	struct err e;
	int scope, r;

	if (jdec_object(line, token_fields, NULL, &l, &e) < 0)
		return -EBADMSG;
	t = new0(struct token);
	list_init(&t->link);
	/* Listed before it is checked: the caller frees it with the list after an error. */
	list_add_tail(tokens, &t->link);
	scope = grant_scope_find(l.scope);
	r = scope < 0 ? -EBADMSG : sha256_from_hex(slice_of(l.digest), &t->digest);
	if (r == 0)
		r = token_read_sessions(t, l.sessions);
	/* An unknown scope is an error below; until the token is freed it has a narrow one. */
	t->scope = scope < 0 ? GRANT_TOOLS : (enum grant_scope)scope;
	t->expires_ms = (uint64_t)l.expires;
	t->created_ms = (uint64_t)l.created;
	t->id = TAKE_PTR(l.id);
	t->label = TAKE_PTR(l.label);
	t->ceiling = l.ceiling.n ? xstrndup(l.ceiling.p, l.ceiling.n) : NULL;
	jdec_free(token_fields, &l);
	return r < 0 ? -EBADMSG : 0;
}

struct token_head {
	int64_t version, tokens;
	char *claim;
};

static const struct jfield head_fields[] = {
	JF_INT(struct token_head, version, "v", JF_REQUIRED, TOKENS_VERSION, TOKENS_VERSION),
	JF_STR(struct token_head, claim, "claim", JF_REQUIRED, SHA256_HEX),
	JF_INT(struct token_head, tokens, "tokens", JF_REQUIRED, 0, TOKENS_MAX),
	JF_END,
};

static int token_take_head(struct slice line, struct sha256 *claim, int64_t *tokens)
{
	struct token_head h = { 0 };
	struct err e;
	int r = jdec_object(line, head_fields, NULL, &h, &e);

	if (r == 0)
		r = sha256_from_hex(slice_of(h.claim), claim);
	*tokens = h.tokens;
	jdec_free(head_fields, &h);
	return r < 0 ? -EBADMSG : 0;
}

/* The next whole line that is as it was written. */
static int token_next_line(struct slice *rest, struct slice *line)
{
	struct jval v;
	struct slice own;

	return slice_cut(rest, '\n', line) && crc_line_open(*line, &own) &&
			       jscan_value(*line, &v) == JSCAN_OK && v.type == J_OBJECT ?
		       0 :
		       -EBADMSG;
}

int token_file_read(const char *path, struct sha256 *claim, struct list *tokens)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct slice rest, line;
	int64_t left = 0;
	int r = file_read(path, TOKENS_FILE_MAX, &b);

	if (r < 0)
		return r == -E2BIG ? -EBADMSG : r;
	rest = buf_slice(&b);
	r = token_next_line(&rest, &line);
	if (r == 0)
		r = token_take_head(line, claim, &left);
	for (; r == 0 && left > 0; left--) {
		r = token_next_line(&rest, &line);
		if (r == 0)
			r = token_take_line(line, tokens);
	}
	return r == 0 && rest.n ? -EBADMSG : r;
}
