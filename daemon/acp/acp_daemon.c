/*
 * acp_daemon.c - what the daemon reports about itself and administers: its status, asked for and pushed; records of the usage
 * ledger; minted tokens; and which harnesses are installed, with what a client is told of one that wants a login.
 */
#include "acp/acp_internal.h"

#include "access/tokens.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/os/sandbox.h"
#include "json/jstr.h"
#include "session/parts/programs/programs.h"

static void put_daemon_life(struct jw *w, const struct session_store *st)
{
	struct store_totals t;
	struct store_life l;
	char keep[RETENTION_TEXT_MAX];

	store_life(st, &l);
	store_totals(st, &t);
	jw_obj(w, "harnesses");
	jw_uint(w, "live", l.live);
	jw_uint(w, "max", l.harness_max);
	jw_uint(w, "waiting", l.waiting);
	jw_uint(w, "starting", l.starting);
	if (l.starting)
		jw_uint(w, "startingMs", l.starting_ms);
	jw_uint(w, "idleSeconds", l.harness_idle);
	jw_uint(w, "stoppedIdle", t.rested_idle);
	jw_uint(w, "stoppedForRoom", t.rested_room);
	jw_uint(w, "refused", t.crowded_out);
	jw_end_obj(w);
	jw_uint(w, "sessionMax", l.session_max);
	jw_object(w, "retention", JW_STR("keepSessions", retention_text(&l.keep, keep)),
		  JW_UINT("removedAge", t.removed_age), JW_UINT("removedSize", t.removed_size),
		  JW_UINT("removedRoom", t.removed_room), JW_UINT("trimmed", t.trimmed));
}

static void put_ledger_counts(struct jw *w, const struct session_store *st)
{
	struct ledger_counts n;

	ledger_count(store_ledger(st), &n);
	jw_object(w, "usage", JW_UINT("first", n.first), JW_UINT("last", n.last),
		  JW_UINT("read", n.read), JW_UINT("files", n.files), JW_UINT("bytes", n.bytes),
		  JW_UINT("removedFiles", n.removed_files),
		  JW_UINT("removedRecords", n.removed_records));
}

/* Of a token that is limited to some sessions nothing that is of others. */
static void put_daemon(struct jw *w, const struct grant *g, const struct acp_server *srv)
{
	jw_str(w, "incarnation", store_incarnation(srv->store));
	if (grant_limited(g)) {
		lifecycle_put_brief(srv->life, w);
		return;
	}
	lifecycle_put(srv->life, w);
	put_daemon_life(w, srv->store);
	put_ledger_counts(w, srv->store);
}

static int report_status(struct acp_request *q, struct err *e _unused_)
{
	const struct grant *g = q->conn->transport.grant;
	struct jw *w = request_answer(q);

	put_daemon(w, g, q->conn->srv);
	if (!q->session) {
		store_put_sessions(q->conn->srv->store, g, w);
		return REQUEST_ANSWER;
	}
	jw_arr(w, "sessions");
	session_put_status(w, NULL, q->session);
	jw_end_arr(w);
	return REQUEST_ANSWER;
}

ACP_HANDLER(on_status, report_status, struct named_session, any_session_fields);

/* --- status, pushed: one frame for all clients, and of each connection one bit --------------------------- */

static void put_status_frame(struct acp_server *srv, struct buf *frame,
			     void (*put)(const struct lifecycle *l, struct jw *w))
{
	JW_BUF(w, b);

	jw_obj(&w, NULL);
	jw_str(&w, "incarnation", store_incarnation(srv->store));
	put(srv->life, &w);
	jw_end_obj(&w);
	buf_reset(frame);
	rpc_put_notification(frame, "_acpd/status", buf_slice(&b));
}

static void on_life_changed(void *ctx)
{
	struct acp_server *srv = ctx;

	put_status_frame(srv, &srv->status, lifecycle_put);
	put_status_frame(srv, &srv->status_brief, lifecycle_put_brief);
	list_each(c, &srv->conns, struct acp_conn, link) {
		/* Connections that only make model calls get no status. */
		if (c->phase != CONN_READY || !(c->client & CLIENT_ACPD))
			continue;
		c->status_due = true;
		conn_dirty(c);
	}
}

void daemon_status_follow(struct acp_server *srv)
{
	lifecycle_follow(srv->life, on_life_changed, srv);
}

void conn_tell_resumed(struct acp_conn *c)
{
	JW_BUF(w, b);

	if (!c->srv->resumed_at || !(c->client & CLIENT_ACPD))
		return;
	jw_object(&w, NULL, JW_STR("at", CLOCK_ISO(c->srv->resumed_at)),
		  JW_UINT("gapMs", c->srv->resumed_gap),
		  JW_STR("incarnation", store_incarnation(c->srv->store)),
		  JW_STR("sandboxId", sandbox_id()));
	conn_notify(c, NULL, "_acpd/resumed", buf_slice(&b));
}

/* --- usage ----------------------------------------------------------------------------------------------- */

struct usage_params {
	char *session_id;
	int64_t since;
	struct slice meta;
};

static const struct jfield usage_fields[] = {
	JF_STR(struct usage_params, session_id, "sessionId", 0, RPC_ID_MAX),
	JF_INT(struct usage_params, since, "since", 0, 0, INT64_MAX),
	JF_OBJ(struct usage_params, meta, "_meta", 0),
	JF_END,
};

struct page {
	struct jw *w;
	const char *session_id;
	const struct grant *grant;
	uint64_t last;
	size_t seen; /* bytes of records read: a narrow filter must not hold up the loop */
	bool more;
};

/* Of the sessions of a token that is limited to some, none of another. */
static bool is_record_wanted(const struct page *p, struct slice line)
{
	_cleanup_(freep) char *id = NULL;

	if (p->session_id)
		return jstr_is(jobj_get(line, "sessionId"), p->session_id);
	return !grant_limited(p->grant) ||
	       (jstr_decode(jobj_get(line, "sessionId"), RPC_ID_MAX, &id) == 0 &&
		grant_sees(p->grant, id));
}

static bool put_usage_record(void *ctx, uint64_t n, struct slice line)
{
	struct page *p = ctx;

	if (p->seen > USAGE_PAGE_BYTES) {
		p->more = true;
		return false;
	}
	/* Also of records that the filter drops: the next page begins behind them. */
	p->last = n;
	p->seen += line.n;
	if (is_record_wanted(p, line))
		jw_raw(p->w, NULL, line);
	return true;
}

/* All that was read goes to the client; of one session it would not be all. Who only observes confirms nothing. */
static void note_records_read(struct ledger *l, const struct usage_params *a, const struct page *p)
{
	if (a->session_id || grant_limited(p->grant) || grant_scope(p->grant) == GRANT_OBSERVE)
		return;
	ledger_asked(l, (uint64_t)a->since);
	ledger_handed(l, (uint64_t)a->since, p->last);
}

static int report_usage(struct acp_request *q, struct err *e)
{
	struct ledger *ledger = store_ledger(q->conn->srv->store);
	const struct usage_params *a = q->args;
	struct page p = { .w = request_answer(q),
			  .session_id = a->session_id,
			  .grant = q->conn->transport.grant,
			  .last = (uint64_t)a->since };
	int r;

	jw_arr(p.w, "records");
	r = ledger_read(ledger, p.last, put_usage_record, &p);
	if (r < 0)
		return err_set(e, r, RPC_INTERNAL_ERROR, "LEDGER_UNREADABLE", "%s", strerror(-r));
	jw_end_arr(p.w);
	jw_uint(p.w, "last", p.last);
	jw_bool(p.w, "more", p.more);
	/* Above 1, retention has removed older records: a client with an older `since` missed them. */
	if (ledger_first(ledger) > 1)
		jw_uint(p.w, "first", ledger_first(ledger));
	note_records_read(ledger, a, &p);
	return REQUEST_ANSWER;
}

ACP_HANDLER(on_usage, report_usage, struct usage_params, usage_fields, .unknown_ok = true);

/* --- tokens ---------------------------------------------------------------------------------------------- */

#define BY_ACP "acp"

static int mint_token(struct acp_request *q, struct err *e)
{
	int r = tokens_mint(q->conn->srv->tokens, q->msg->params, BY_ACP, request_answer(q), e);

	return r < 0 ? r : REQUEST_ANSWER;
}

const struct acp_handler on_tokens_mint = { .run = mint_token, .is_secret = true };

struct token_args {
	char *id;
	struct slice meta;
};

static const struct jfield token_list_fields[] = {
	JF_OBJ(struct token_args, meta, "_meta", 0),
	JF_END,
};

static const struct jfield revoke_fields[] = {
	JF_STR(struct token_args, id, "id", JF_REQUIRED, TOKEN_ID_SIZE),
	JF_OBJ(struct token_args, meta, "_meta", 0),
	JF_END,
};

static int list_tokens(struct acp_request *q, struct err *e _unused_)
{
	tokens_put(q->conn->srv->tokens, request_answer(q));
	return REQUEST_ANSWER;
}

static int revoke_token(struct acp_request *q, struct err *e)
{
	const struct token_args *a = q->args;
	int r = tokens_revoke(q->conn->srv->tokens, a->id, BY_ACP, e);

	return r < 0 ? r : REQUEST_ANSWER;
}

ACP_HANDLER(on_tokens_list, list_tokens, struct token_args, token_list_fields);
ACP_HANDLER(on_tokens_revoke, revoke_token, struct token_args, revoke_fields);

/* --- harnesses ------------------------------------------------------------------------------------------- */

#define KNOWN_SHOWN 150 /* bytes of the names in the message */

void harness_unknown(const struct acp_request *q, const char *field)
{
	_cleanup_(buf_done) struct buf b = { 0 }, names = { 0 };
	const struct harness_table *t = q->conn->srv->harnesses;
	struct jw w = JW(&b);
	struct err e;

	/* A member of the error's data, not an object of its own. */
	jw_arr(&w, "known");
	for (size_t i = 0; i < t->n; i++) {
		const struct harness_def *def = &t->defs[i];

		if (!harness_installed(def))
			continue;
		jw_str(&w, NULL, def->id);
		buf_printf(&names, "%s%s", buf_len(&names) ? ", " : "", def->id);
	}
	jw_end_arr(&w);
	if (!buf_len(&names))
		buf_puts(&names, "none");
	err_field(&e, field, "HARNESS_UNKNOWN",
		  "%s: no such harness; installed: %.*s; acpd harness list shows all", field,
		  (int)MIN(buf_len(&names), (size_t)KNOWN_SHOWN), names.data);
	conn_error(q->conn, NULL, q->msg->id, &e, buf_slice(&b));
}

/* A request that waits until the programs have said their versions. */
struct list_harnesses {
	struct programs_ask ask;
	struct programs *programs;
	struct method_call *call;
	char *only; /* the harness of a session; NULL: all */
};

static void on_programs_known(void *ctx)
{
	JW_BUF(w, b);
	struct list_harnesses *l = ctx;

	jw_obj(&w, NULL);
	jw_arr(&w, "harnesses");
	for (size_t i = 0; i < programs_count(l->programs); i++) {
		const struct program_fact *f = programs_at(l->programs, i);

		if (!l->only || strcmp(l->only, f->def->id) == 0)
			program_put(&w, f);
	}
	jw_end_arr(&w);
	jw_end_obj(&w);
	call_result(l->call, buf_slice(&b));
	free_each(l->only, l);
}

static int list_harnesses(struct acp_request *q, struct err *e _unused_)
{
	struct list_harnesses *l = new0(struct list_harnesses);

	l->programs = store_programs(q->conn->srv->store);
	l->call = call_new(q->conn, q->msg->id);
	l->only = q->session ? xstrdup(session_harness(q->session)->id) : NULL;
	/* The callback comes from the loop, never from within this call. */
	programs_ask(l->programs, &l->ask, on_programs_known, l);
	return 0;
}

ACP_HANDLER(on_harness_list, list_harnesses, struct named_session, any_session_fields);

struct err login_error(const struct acp_conn *c, const struct session *s, const struct err *e)
{
	const struct harness_def *def = s ? session_harness(s) : NULL;
	char hint[160];
	struct err own;

	if (e->rpc != RPC_AUTH_REQUIRED || !c || !def || (def == c->harness && def->auth_methods))
		return *e;
	harness_login_hint(def, hint, sizeof(hint));
	err_set(&own, -EACCES, RPC_INTERNAL_ERROR, "HARNESS_AUTH_REQUIRED", "%.*s; %s",
		(int)(sizeof(own.msg) - sizeof(hint)), e->msg, hint);
	return own;
}
