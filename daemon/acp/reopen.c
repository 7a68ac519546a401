/*
 * reopen.c - session/load and resume, by who drives the session from then on, and by who only looks.
 *
 * The answer to a load waits behind the replay of its events, so that a client has the whole past before it may prompt. An
 * observer reads beside the driver, sessions that are closed, too: nothing of the session is changed, its harness is not
 * started, and it asks nothing (daemon/protocol/tokens.md).
 */
#include "acp/params.h"

static void notify_foreign_cursor(struct acp_conn *c, struct session *s)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	if (!(c->client & CLIENT_ACPD) || !session_last_seq(s))
		return;
	/* The client's numbers are of another incarnation: to it, everything up to now is unseen. */
	gap_put(&b, session_id(s), &(struct evlog_gap){ 1, session_last_seq(s), "incarnation" });
	conn_notify(c, NULL, "_acpd/gap", buf_slice(&b));
}

static uint64_t reopen_from(struct method_call *k, struct session *s)
{
	if (k->is_foreign)
		notify_foreign_cursor(k->conn, s);
	/* Without a cursor a load replays everything, and a resume begins behind the last event. */
	return k->from ? k->from : k->is_load ? 1 : session_last_seq(s) + 1;
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
	if (k->is_load)
		k->view = v; /* the response waits behind the replay */
	call_result(k, buf_slice(&b));
	watcher_ready(&v->w);
}

static bool cursor_is_foreign(const struct session *s, const struct session_args *a)
{
	/* fromSeq is the first event that the client wants: it has those before it. */
	return session_is_foreign(s, a->incarnation, (uint64_t)MAX(a->from_seq, 1) - 1);
}

static int check_reopen(const struct acp_request *q, const struct session_args *a, struct err *e)
{
	struct session *s = q->session;

	if (!s)
		return not_found(e, a->session_id);
	if (check_cwd(s, a->cwd, e) < 0)
		return -EINVAL;
	/* The number after the last event is valid: the client has all of them. */
	if (a->from_seq > (int64_t)session_last_seq(s) + 1 && !cursor_is_foreign(s, a))
		return err_field(e, "_meta.acpd.fromSeq", "FIELD_OUT_OF_RANGE",
				 "the session has no such event yet");
	return 0;
}

static struct method_call *call_reopen(const struct acp_request *q, const struct session *s,
				       const struct session_args *a, bool load)
{
	struct method_call *k = call_new(q->conn, q->msg->id);

	k->is_load = load;
	k->is_foreign = cursor_is_foreign(s, a);
	k->from = k->is_foreign ? 0 : (uint64_t)a->from_seq;
	return k;
}

static int reopen_session(const struct acp_request *q, struct session_args *a, bool load,
			  struct err *e)
{
	_cleanup_(secret_buf_done) struct buf provider = { 0 };
	struct session_params p = opener_params(q->conn);
	struct session *s = q->session;
	struct method_call *k;
	int r = check_reopen(q, a, e);

	/* nothing is started for it, and what it was set up with stays as it is: it is only read */
	if (r == 0 && session_is_imported(s)) {
		on_reopened(call_reopen(q, s, a, load), s, NULL);
		return 0;
	}
	/* Before the check, which must see the provider as if the client had named it. */
	if (r == 0 && session_follows_provider(s))
		conn_give_provider(q->conn, session_harness(s), a, &provider);
	if (r == 0)
		r = session_args_check(a, session_caps(s), &p, e);
	if (r == 0)
		r = check_ceiling(q->conn, s, &p.setup, e);
	if (r < 0)
		return r;
	k = call_reopen(q, s, a, load);
	r = session_open(s, &p, on_reopened, k, e);
	if (r == 0) {
		conn_serve(q->conn, s);
		return 0;
	}
	/* Either branch answers and frees k, so there is no error to return. */
	if (strcmp(e->reason, "ENV_REQUIRED") != 0) {
		call_open_error(k, s, e);
		return 0;
	}
	call_free(k);
	session_refused(q, s, &p, e);
	return 0;
}

/* --- by who only looks -------------------------------------------------------------------------------------------- */

bool conn_observes(const struct acp_conn *c, struct jval observe)
{
	return observe.type == J_TRUE || !need_met(NEED_DRIVE, grant_scope(c->transport.grant));
}

static int refuse_observer(struct err *e, const char *prefix, struct slice name)
{
	grant_missing(NEED_DRIVE, e);
	snprintf(e->field, sizeof(e->field), "%s%.*s", prefix, (int)MIN(name.n, 64u), name.p);
	snprintf(e->msg, sizeof(e->msg), "%s: who observes changes nothing", e->field);
	return -EACCES;
}

static bool param_is_given(struct jval v)
{
	/* ACP requires mcpServers of a load, so an observer sends an empty list. */
	return v.type != J_NONE && v.type != J_NULL && !slice_is(v.raw, "[]");
}

/* All that would change the session is refused, not left out. */
static int check_looks(const struct session_args *a, struct err *e)
{
	static const char *const looks[] = { "incarnation", "fromSeq", "observe" };
	const struct {
		const char *name;
		struct jval v;
	} given[] = { { "mcpServers", a->mcp_servers },
		      { "additionalDirectories", a->additional_dirs },
		      { "systemPrompt", a->system_prompt } };
	struct jval acpd = jobj_get(a->meta, "acpd");

	for (size_t i = 0; i < ARRAY_SIZE(given); i++)
		if (param_is_given(given[i].v))
			return refuse_observer(e, "", slice_of(given[i].name));
	/* The client asks to drive, and only its token makes it an observer (conn_observes). */
	if (a->observe.type == J_FALSE)
		return refuse_observer(e, "_meta.acpd.", SLICE("observe"));
	jobj_each(key, v, acpd) {
		bool known = false;

		for (size_t i = 0; i < ARRAY_SIZE(looks); i++)
			known |= slice_is(key, looks[i]);
		if (!known)
			return refuse_observer(e, "_meta.acpd.", key);
	}
	return 0;
}

static int observe(const struct acp_request *q, const struct session_args *a, bool load,
		   struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct session *s = q->session;
	struct method_call *k;
	struct view *v;
	int r = check_looks(a, e);

	if (r == 0)
		r = check_reopen(q, a, e);
	if (r < 0)
		return r;
	k = call_reopen(q, s, a, load);
	v = view_observe(q->conn, s, reopen_from(k, s));
	session_put_opened(&b, q->conn, s, false);
	if (load)
		k->view = v; /* the response waits behind the replay */
	call_result(k, buf_slice(&b));
	return 0;
}

static int load_or_resume(struct acp_request *q, struct err *e)
{
	bool load = q->variant == CALL_LOAD;
	struct session_args a;
	int r = session_args_decode(q->msg->params, (enum session_call)q->variant, &a, e);

	if (r < 0)
		return r;
	r = conn_observes(q->conn, a.observe) ? observe(q, &a, load, e) :
						reopen_session(q, &a, load, e);
	session_args_free(&a);
	return r;
}

const struct acp_handler on_session_load = { .run = load_or_resume, .variant = CALL_LOAD };
const struct acp_handler on_session_resume = { .run = load_or_resume, .variant = CALL_RESUME };
