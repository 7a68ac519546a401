/*
 * sessions.c - session/new, fork, list, close and delete, _acpd/ack, and what is told of a session that was opened.
 *
 * A session that is made answers once its harness is there.
 */
#include "acp/params.h"

#include "base/format/digits.h"
#include "base/limits.h"

/* --- answers ------------------------------------------------------------------------------------------- */

static void put_opened_acpd(struct jw *w, struct acp_conn *c, struct session *s)
{
	const struct view *v = view_find(c, session_id(s));

	jw_obj(w, "_meta");
	jw_obj(w, "acpd");
	jw_str(w, "harness", session_harness(s)->id);
	if (v && v->w.observes)
		jw_bool(w, "observe", true);
	jw_str(w, "incarnation", store_incarnation(c->srv->store));
	jw_uint(w, "seq", session_last_seq(s));
	if (session_running(s))
		jw_uint(w, "turn", session_running(s));
	jw_str(w, "context", session_is_restored(s) ? "kept" : "lost");
	jw_str(w, "cwd", session_cwd(s));
	session_put_damage(w, s);
	session_put_pending(s, w);
	jw_members(w, session_provisioned(s), NULL);
	session_parts_put_opened(w, s);
	jw_obj(w, "capabilities");
	caps_put(w, session_caps(s));
	jw_end_obj(w);
	jw_end_obj(w);
	jw_end_obj(w);
}

void session_put_opened(struct buf *b, struct acp_conn *c, struct session *s, bool with_id)
{
	struct jw w = JW(b);

	/* Before any number is sent: the journal must know of which incarnation they are. */
	session_settle_incarnation(s);
	jw_obj(&w, NULL);
	if (with_id)
		jw_str(&w, "sessionId", session_id(s));
	jw_raw(&w, "modes", session_modes(s));
	if (session_config(s).n)
		config_put(&w, session_config(s), c->client);
	put_opened_acpd(&w, c, s);
	jw_end_obj(&w);
}

/* --- new and fork ------------------------------------------------------------------------------------------------- */

void call_open_error(struct method_call *k, const struct session *s, const struct err *e)
{
	static const struct {
		const char *reason, *category;
	} rows[] = { { "MODEL_UNKNOWN", "model" }, { "MODE_UNKNOWN", "mode" } };
	JW_BUF(w, b);
	struct err own = login_error(k->conn, s, e);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strcmp(e->reason, rows[i].reason) == 0)
			put_known(&w, s, rows[i].category, &own);
	jw_raw(&w, "refused", session_refusal(s));
	call_error(k, &own, buf_slice(&b));
}

/* Completion of session/new and fork; ctx is the call. */
static void on_session_created(void *ctx, struct session *s, const struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct method_call *k = ctx;
	struct acp_conn *c = k->conn;

	/* After a failure s is only valid during this call. */
	if (e) {
		call_open_error(k, s, e);
		return;
	}
	if (!c) { /* nobody will ever learn its id */
		session_close(s, true, NULL, NULL);
		call_free(k);
		return;
	}
	session_put_opened(&b, c, s, true);
	call_result(k, buf_slice(&b));
	watcher_ready(
		&view_open(c, s, 1)->w); /* after the response: nothing of a session precedes it */
}

void session_refused(const struct acp_request *q, const struct session *s,
		     const struct session_params *p, const struct err *e)
{
	JW_BUF(w, b);

	if (strcmp(e->reason, "ENV_REQUIRED") == 0)
		session_put_missing_env(&w, s, p);
	conn_error(q->conn, NULL, q->msg->id, e, buf_slice(&b));
}

int check_cwd(const struct session *s, const char *cwd, struct err *e)
{
	if (!session_has_head(s))
		return err_set(e, -EBADMSG, RPC_INTERNAL_ERROR, "SESSION_DAMAGED",
			       "damage on disk has taken what the session was made with: it can be "
			       "read over HTTP and deleted, not used");
	if (strcmp(session_cwd(s), cwd) == 0)
		return 0;
	return err_field(e, "cwd", "CWD_MISMATCH",
			 "cwd is not the one the session was created with");
}

/* from: the session whose context it gets, or NULL. A refusal of a fork names the variables that it needs. */
static int create_session(const struct acp_request *q, struct session_args *a,
			  const struct harness_def *def, struct session *from, struct err *e)
{
	_cleanup_(secret_buf_done) struct buf provider = { 0 };
	struct acp_conn *c = q->conn;
	struct session_params p = opener_params(c);
	struct session *s;
	struct method_call *k;
	int r = from ? check_cwd(from, a->cwd, e) : 0;

	if (r < 0)
		return r;
	if (!from)
		conn_give_provider(c, def, a, &provider);
	r = session_args_check(a, from ? session_caps(from) : &def->caps, &p, e);
	p.harness = def;
	p.setup.auth_method = c->auth_method;
	if (r < 0)
		return r;
	k = call_new(c, q->msg->id);
	s = from ? session_fork(from, &p, on_session_created, k, e) :
		   session_new(c->srv->store, &p, on_session_created, k, e);
	if (s) {
		/* From the acceptance on, not from the answer: the client gets MCP requests and model calls at once. */
		conn_serve(c, s);
		return 0;
	}
	call_free(k);
	if (!from)
		return -EIO;
	session_refused(q, from, &p, e);
	return 0;
}

static int new_or_fork(struct acp_request *q, struct err *e)
{
	struct session *from = q->variant == CALL_FORK ? q->session : NULL;
	const struct harness_def *def;
	struct session_args a;
	int r = session_args_decode(q->msg->params, (enum session_call)q->variant, &a, e);

	if (r < 0)
		return r;
	def = from	? session_harness(from) :
	      a.harness ? acp_server_harness(q->conn->srv, a.harness) :
			  q->conn->harness;
	if (q->variant == CALL_FORK && !from)
		r = not_found(e, a.session_id);
	else if (def)
		r = create_session(q, &a, def, from, e);
	else
		harness_unknown(q, "_meta.acpd.harness");
	session_args_free(&a);
	return r;
}

const struct acp_handler on_session_new = { .run = new_or_fork, .variant = CALL_NEW };
const struct acp_handler on_session_fork = { .run = new_or_fork, .variant = CALL_FORK };

/* --- list -------------------------------------------------------------------------------------------------- */

struct list_args {
	char *cwd, *cursor;
};

static const struct jfield list_fields[] = {
	JF_STR(struct list_args, cwd, "cwd", 0, 4096),
	JF_STR(struct list_args, cursor, "cursor", 0, 64),
	JF_END,
};

struct session_listing {
	struct jw *w;
	const struct grant *grant;
	const char *cwd;
	unsigned n;
	uint64_t last; /* number of the last session listed */
	bool more;
};

static bool list_session(void *ctx, struct session *s, uint64_t number)
{
	struct session_listing *l = ctx;

	if ((l->cwd && strcmp(l->cwd, session_cwd(s)) != 0) || !grant_sees(l->grant, session_id(s)))
		return true;
	/* After the filter: there is a next page only if one more session matches. */
	if (l->n == SESSION_LIST_PAGE) {
		l->more = true;
		return false;
	}
	session_put_listed(l->w, s);
	l->n++;
	l->last = number;
	return true;
}

/* Cursors are the creation number of the last session shown, behind a mark: "after-17". */
static int parse_list_cursor(const struct session_store *st, const char *cursor, uint64_t *ret,
			     struct err *e)
{
	struct slice text = slice_of(cursor);

	*ret = 0;
	if (!cursor)
		return 0;
	/* No leading zeros: a cursor has one spelling. */
	if (slice_skip(&text, "after-") && !slice_starts(text, "0") && u64_parse(text, ret) &&
	    *ret <= store_last_number(st))
		return 0;
	return err_field(e, "cursor", "CURSOR_INVALID",
			 "cursor is not one that session/list returned");
}

static int list_sessions(struct acp_request *q, struct err *e)
{
	const struct list_args *a = q->args;
	struct session_listing l = { .grant = q->conn->transport.grant, .cwd = a->cwd };
	char cursor[32];
	uint64_t after;
	int r = parse_list_cursor(q->conn->srv->store, a->cursor, &after, e);

	if (r < 0)
		return r;
	l.w = request_answer(q);
	jw_arr(l.w, "sessions");
	store_each(q->conn->srv->store, after, list_session, &l);
	jw_end_arr(l.w);
	/* A number, so that sessions that are deleted between two pages shift nothing. */
	if (l.more) {
		snprintf(cursor, sizeof(cursor), "after-%lu", l.last);
		jw_str(l.w, "nextCursor", cursor);
	}
	return REQUEST_ANSWER;
}

ACP_HANDLER(on_session_list, list_sessions, struct list_args, list_fields, .unknown_ok = true);

/* --- close and delete ------------------------------------------------------------------------------------------ */

static void on_session_closed(void *ctx, struct session *s _unused_, const struct err *e)
{
	call_done_empty(ctx, SLICE_NONE, e);
}

enum { CLOSE_ONLY, CLOSE_AND_DELETE };

/* One that is gone already is what was asked for. */
static int close_or_delete(struct acp_request *q, struct err *e)
{
	bool remove = q->variant == CLOSE_AND_DELETE;
	int r;

	/* A session that cannot be read is unknown, but has files: a deletion removes these. */
	if (!q->session) {
		r = remove ? store_forget(q->conn->srv->store, q->id, e) : 0;
		return r < 0 ? r : REQUEST_ANSWER;
	}
	session_close(q->session, remove, on_session_closed, call_new(q->conn, q->msg->id));
	return 0;
}

const struct acp_handler on_session_close = { .run = close_or_delete, .variant = CLOSE_ONLY };
const struct acp_handler on_session_delete = { .run = close_or_delete,
					       .variant = CLOSE_AND_DELETE };

/* --- acknowledging ----------------------------------------------------------------------------------------------- */

struct ack_args {
	char *session_id, *incarnation;
	int64_t seq;
	struct slice meta;
};

static const struct jfield ack_fields[] = {
	JF_STR(struct ack_args, incarnation, "incarnation", 0, INCARNATION_MAX),
	JF_STR(struct ack_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_INT(struct ack_args, seq, "seq", JF_REQUIRED, 0, INT64_MAX),
	JF_OBJ(struct ack_args, meta, "_meta", 0),
	JF_END,
};

static int ack_events(struct acp_request *q, struct err *e)
{
	const struct ack_args *a = q->args;
	int r = session_ack(q->session, a->incarnation, (uint64_t)a->seq, e);

	return r < 0 ? r : REQUEST_ANSWER;
}

ACP_HANDLER(on_ack, ack_events, struct ack_args, ack_fields);
