/* sessions.c - session/new, load, resume, list, close and delete. */
#include "acp/params.h"

#include "base/clock.h"
#include "base/digits.h"
#include "base/limits.h"
#include "json/jstr.h"

#include <errno.h>
#include <stdio.h>

/* --- answers ------------------------------------------------------------------------------------------- */

static void put_acpd(struct jw *w, struct acp_conn *c, struct session *s)
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
	jw_str(w, "context", session_restored(s) ? "kept" : "lost");
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

	session_settle_incarnation(s);
	jw_obj(&w, NULL);
	if (with_id)
		jw_str(&w, "sessionId", session_id(s));
	jw_raw(&w, "modes", session_modes(s));
	if (session_config(s).n)
		config_put(&w, session_config(s), c->client);
	put_acpd(&w, c, s);
	jw_end_obj(&w);
}

/* --- new ------------------------------------------------------------------------------------------------- */

static void on_removed(void *ctx _unused_, struct session *s _unused_, const struct err *e _unused_)
{
}

/* What could have been asked for instead. */
static void call_open_error(struct method_call *k, const struct session *s, const struct err *e)
{
	static const struct {
		const char *reason, *category;
	} rows[] = { { "MODEL_UNKNOWN", "model" }, { "MODE_UNKNOWN", "mode" } };
	_cleanup_(buf_done) struct buf b = { 0 };
	struct err own = login_error(k->conn, s, e);
	struct jw w = JW(&b);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strcmp(e->reason, rows[i].reason) == 0)
			put_known(&w, s, rows[i].category, &own);
	jw_raw(&w, "refused", session_refusal(s));
	call_error(k, &own, buf_slice(&b));
}

void on_session_created(void *ctx, struct session *s, const struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct method_call *k = ctx;
	struct acp_conn *c = k->conn;

	if (e) {
		call_open_error(k, s, e);
		return;
	}
	if (!c) { /* nobody will ever learn its id */
		session_close(s, true, on_removed, NULL);
		call_free(k);
		return;
	}
	session_put_opened(&b, c, s, true);
	call_result(k, buf_slice(&b));
	watcher_ready(
		&view_open(c, s, 1)->w); /* after the response: nothing of a session precedes it */
}

static int create(struct acp_conn *c, const struct rpc_msg *m, struct session_args *a,
		  const struct harness_def *def, struct err *e)
{
	_cleanup_(secret_text_done) struct buf provider = { 0 };
	struct session_params p = opener_params(c);
	struct session *s;
	struct method_call *k;
	int r;

	conn_give_provider(c, def, a, &provider);
	r = session_args_check(a, &def->caps, &p, e);
	p.harness = def;
	p.setup.auth_method = c->auth_method;
	if (r < 0)
		return r;
	k = call_new(c, m->id);
	s = session_new(c->srv->store, &p, on_session_created, k, e);
	if (!s) {
		call_free(k);
		return -EIO;
	}
	conn_serve(c, s);
	return 0;
}

int on_session_new(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	const struct harness_def *def;
	struct session_args a;
	int r = session_args_decode(m->params, CALL_NEW, &a, e);

	if (r < 0)
		return r;
	def = a.harness ? acp_server_harness(c->srv, a.harness) : c->harness;
	if (def)
		r = create(c, m, &a, def, e);
	else
		harness_unknown(c, m, "_meta.acpd.harness");
	session_args_free(&a);
	return r;
}

/* --- load and resume --------------------------------------------------------------------------------------- */

static void tell_foreign(struct acp_conn *c, struct session *s)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	if (!(c->client & CLIENT_ACPD) || !session_last_seq(s))
		return;
	gap_put(&b, session_id(s), &(struct evlog_gap){ 1, session_last_seq(s), "incarnation" });
	conn_notify(c, NULL, "_acpd/gap", buf_slice(&b));
}

uint64_t reopen_from(struct method_call *k, struct session *s)
{
	if (k->foreign)
		tell_foreign(k->conn, s);
	return k->from ? k->from : k->load ? 1 : session_last_seq(s) + 1;
}

static void on_reopened(void *ctx, struct session *s, const struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct method_call *k = ctx;
	struct acp_conn *c = k->conn;
	struct view *v;

	if (e || !c) {
		if (e)
			call_open_error(k, s, e);
		else
			call_free(k);
		return;
	}
	v = view_open(c, s, reopen_from(k, s));
	session_put_opened(&b, c, s, false);
	if (k->load)
		k->view = v; /* the response waits behind the replay */
	call_result(k, buf_slice(&b));
	watcher_ready(&v->w);
}

void session_refused(struct acp_conn *c, const struct rpc_msg *m, const struct session *s,
		     const struct session_params *p, const struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	if (strcmp(e->reason, "ENV_REQUIRED") == 0)
		session_put_missing_env(&w, s, p);
	conn_error(c, NULL, m->id, e, buf_slice(&b));
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

static bool is_foreign(const struct session *s, const struct session_args *a)
{
	return session_foreign(s, a->incarnation, (uint64_t)MAX(a->from_seq, 1) - 1);
}

int check_reopen(struct acp_conn *c, const struct session_args *a, struct session **ret,
		 struct err *e)
{
	struct session *s = store_find(c->srv->store, a->session_id);

	if (!s)
		return not_found(e, a->session_id);
	if (check_cwd(s, a->cwd, e) < 0)
		return -EINVAL;
	if (a->from_seq > (int64_t)session_last_seq(s) + 1 && !is_foreign(s, a))
		return err_field(e, "_meta.acpd.fromSeq", "FIELD_OUT_OF_RANGE",
				 "the session has no such event yet");
	*ret = s;
	return 0;
}

struct method_call *call_reopen(struct acp_conn *c, const struct rpc_msg *m,
				const struct session *s, const struct session_args *a, bool load)
{
	struct method_call *k = call_new(c, m->id);

	k->load = load;
	k->foreign = is_foreign(s, a);
	k->from = k->foreign ? 0 : (uint64_t)a->from_seq;
	return k;
}

static int reopen(struct acp_conn *c, const struct rpc_msg *m, struct session_args *a, bool load,
		  struct err *e)
{
	_cleanup_(secret_text_done) struct buf provider = { 0 };
	struct session_params p = opener_params(c);
	struct session *s = NULL;
	struct method_call *k;
	int r = check_reopen(c, a, &s, e);

	/* nothing is started for it, and what it was set up with stays as it is: it is only read */
	if (r == 0 && session_imported(s)) {
		on_reopened(call_reopen(c, m, s, a, load), s, NULL);
		return 0;
	}
	if (r == 0 && session_follows_provider(s))
		conn_give_provider(c, session_harness(s), a, &provider);
	if (r == 0)
		r = session_args_check(a, session_caps(s), &p, e);
	if (r == 0)
		r = check_ceiling(c, s, &p.setup, e);
	if (r < 0)
		return r;
	k = call_reopen(c, m, s, a, load);
	r = session_open(s, &p, on_reopened, k, e);
	if (r == 0) {
		conn_serve(c, s);
		return 0;
	}
	if (strcmp(e->reason, "ENV_REQUIRED") != 0) {
		call_open_error(k, s, e);
		return 0;
	}
	call_free(k);
	session_refused(c, m, s, &p, e);
	return 0;
}

static int load_or_resume(struct acp_conn *c, const struct rpc_msg *m, bool load, struct err *e)
{
	struct session_args a;
	int r = session_args_decode(m->params, load ? CALL_LOAD : CALL_RESUME, &a, e);

	if (r < 0)
		return r;
	r = is_observing(c, &a) ? observe(c, m, &a, load, e) : reopen(c, m, &a, load, e);
	session_args_free(&a);
	return r;
}

int on_session_load(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	return load_or_resume(c, m, true, e);
}

int on_session_resume(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	return load_or_resume(c, m, false, e);
}

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
	struct jw w;
	const struct grant *grant;
	const char *cwd;
	unsigned n;
	uint64_t last; /* number of the last session listed */
	bool more;
};

static bool list_one(void *ctx, struct session *s, uint64_t number)
{
	struct session_listing *l = ctx;
	struct session_info info;
	char when[CLOCK_ISO_SIZE];

	if ((l->cwd && strcmp(l->cwd, session_cwd(s)) != 0) || !grant_sees(l->grant, session_id(s)))
		return true;
	if (l->n == SESSION_LIST_PAGE) {
		l->more = true;
		return false;
	}
	session_describe(s, &info);
	jw_obj(&l->w, NULL);
	jw_str(&l->w, "sessionId", info.id);
	jw_str(&l->w, "cwd", info.cwd);
	jw_str(&l->w, "title", info.title);
	jw_str(&l->w, "updatedAt", clock_iso(info.updated_ms, when));
	jw_obj(&l->w, "_meta");
	jw_obj(&l->w, "acpd");
	jw_str(&l->w, "harness", info.harness);
	jw_str(&l->w, "state", info.state);
	jw_uint(&l->w, "seq", info.last_seq);
	session_put_damage(&l->w, s);
	jw_end_obj(&l->w);
	jw_end_obj(&l->w);
	jw_end_obj(&l->w);
	l->n++;
	l->last = number;
	return true;
}

/* Cursors are the creation number of the last session shown, behind a mark: "after-17". */
static int parse_cursor(const struct session_store *st, const char *cursor, uint64_t *ret,
			struct err *e)
{
	struct slice text = slice_of(cursor);

	*ret = 0;
	if (!cursor)
		return 0;
	if (slice_skip(&text, "after-") && !slice_starts(text, "0") && u64_parse(text, ret) &&
	    *ret <= store_last_number(st))
		return 0;
	return err_field(e, "cursor", "CURSOR_INVALID",
			 "cursor is not one that session/list returned");
}

int on_session_list(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct session_listing l = { .w = JW(&b), .grant = c->transport.grant };
	struct list_args a = { 0 };
	char cursor[32];
	uint64_t after;
	int r = jdec_object(m->params, list_fields, NULL, &a, e);

	if (r == 0)
		r = parse_cursor(c->srv->store, a.cursor, &after, e);
	if (r == 0) {
		l.cwd = a.cwd;
		jw_obj(&l.w, NULL);
		jw_arr(&l.w, "sessions");
		store_each(c->srv->store, after, list_one, &l);
		jw_end_arr(&l.w);
		if (l.more) {
			snprintf(cursor, sizeof(cursor), "after-%lu", l.last);
			jw_str(&l.w, "nextCursor", cursor);
		}
		jw_end_obj(&l.w);
		conn_result(c, NULL, m->id, buf_slice(&b));
	}
	jdec_free(list_fields, &a);
	return r;
}

/* --- close and delete ------------------------------------------------------------------------------------------ */

static void on_closed(void *ctx, struct session *s _unused_, const struct err *e)
{
	struct method_call *k = ctx;

	if (e)
		call_error(k, e, SLICE_NONE);
	else
		call_result(k, SLICE("{}"));
}

static int close_or_delete(struct acp_conn *c, const struct rpc_msg *m, bool remove, struct err *e)
{
	_cleanup_(freep) char *id = NULL;
	struct session *s;
	int r = 0;

	if (jstr_decode(jobj_get(m->params, "sessionId"), RPC_ID_MAX, &id) < 0)
		return err_field(e, "sessionId", "FIELD_INVALID", "sessionId must be a string");
	s = store_find(c->srv->store, id);
	if (s)
		session_close(s, remove, on_closed, call_new(c, m->id));
	else if (remove)
		r = store_forget(c->srv->store, id, e);
	if (!s && r == 0)
		conn_result(c, NULL, m->id,
			    SLICE("{}")); /* gone already: that is what was asked for */
	return r;
}

int on_session_close(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	return close_or_delete(c, m, false, e);
}

int on_session_delete(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	return close_or_delete(c, m, true, e);
}

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

int on_ack(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	struct ack_args a = { 0 };
	struct session *s = NULL;
	int r = own_params(m->params, ack_fields, &a, e);

	if (r == 0 && !(s = store_find(c->srv->store, a.session_id)))
		r = not_found(e, a.session_id);
	if (r == 0)
		r = session_ack(s, a.incarnation, (uint64_t)a.seq, e);
	if (r == 0)
		conn_result(c, NULL, m->id, SLICE("{}"));
	jdec_free(ack_fields, &a);
	return r;
}
