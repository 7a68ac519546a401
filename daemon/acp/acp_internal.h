/* acp_internal.h - connection state shared by the files of acp/. */
#pragma once

#include "acp/acp_server.h"
#include "base/buf.h"
#include "json/jenc.h"
#include "rpc/rpc.h"

struct acp_server {
	struct loop *loop;
	struct session_store *store;
	const struct harness_table *harnesses;
	char *default_harness, *workspaces;
	uint64_t backlog_max;
	struct list conns;
	unsigned count;
	uint64_t last_conn;
	uint64_t resumed_at, resumed_gap; /* unix ms, 0: never; ms */
	struct lifecycle *life;
	struct tokens *tokens;
	struct buf status,
		status_brief; /* frames with the newest _acpd/status; brief: without sessions */
	struct loop_timer
		watch_timer; /* checks for readers that lag; armed only while there is output */
};

/* CONN_MODELS: ready, but only to make model calls. */
enum conn_phase {
	CONN_NEW = 1,
	CONN_READY = 2,
	CONN_CLOSING = 4,
	CONN_MODELS = 8,
	CONN_EITHER = CONN_READY | CONN_MODELS,
};

/* A message waiting to go out, behind the events of a session up to barrier. */
struct outgoing {
	struct list link;
	struct view *view; /* NULL: at once */
	uint64_t barrier;
	size_t n;
	char text[];
};

struct acp_conn {
	struct list link;
	struct acp_server *srv;
	struct acp_transport transport;
	uint64_t no;
	enum conn_phase phase;
	const struct harness_def *harness; /* of the URL, or the default */
	unsigned client;		   /* client_cap bits */
	unsigned model_apis; /* bit per enum model_api: whose calls its client makes */
	bool model_only;     /* and it does nothing else */
	bool wipe;	     /* keys may stand in the message that is being read */
	size_t repaired;     /* places of the message that is being read: jstr_repair_halves */
	bool bodies_wait;    /* of model calls, for room in out */
	bool status_due;     /* the server's status, once what is queued has gone out */
	char *auth_method;
	struct conn_provider *provider; /* of its sessions that name none; NULL: there is none */
	struct list out, views, calls, ports, takers;
	struct list ready; /* views that may have events to send, the longest not served first */
	uint64_t served;   /* how often any of them was */
	size_t out_bytes;
	unsigned ncalls;
	struct rpc_calls requests; /* ours, to the client */
	uint64_t sent_bytes, sent_seen, stalled_since;
};

/* A session as seen by a connection: "active" in the words of ACP. */
struct view {
	struct list link, ready_link;
	uint64_t served; /* conn->served of the last time, or of when it was made */
	struct acp_conn *conn;
	struct watcher w;
	char *session_id;
};

/* A request of the client that is answered later; outlives its connection (conn NULL). */
struct method_call {
	struct list link;
	struct acp_conn *conn;
	char *id; /* raw */
	struct view *view;
	char *session_id; /* of the session whose workspace it works on, so that it can be cancelled; NULL */
	uint64_t from; /* session/load, resume: first seq wanted; 0: all or none */
	bool load;     /* replay before the response */
	bool foreign;  /* the client's numbers may mean other events here */
};

/* conn.c */
void conn_dirty(struct acp_conn *c);
void conn_queue(struct acp_conn *c, struct view *view, struct slice text);
void conn_notify(struct acp_conn *c, struct view *view, const char *method, struct slice params);
void conn_result(struct acp_conn *c, struct view *view, struct slice id, struct slice result);
void conn_error(struct acp_conn *c, struct view *view, struct slice id, const struct err *e,
		struct slice extra);
/* params of an _acpd/gap. */
void gap_put(struct buf *b, const char *session_id, const struct evlog_gap *g);
/* Takes back our open request with that ctx and tag, if there is one; its reply function is not called. */
void conn_withdraw(struct acp_conn *c, struct view *view, const void *ctx, uint64_t tag);
/* The last _acpd/resumed, if there was one. */
void conn_tell_resumed(struct acp_conn *c);
void conn_close(struct acp_conn *c, int code, const char *reason);
struct method_call *call_new(struct acp_conn *c, struct slice id);
void call_free(struct method_call *k);
/* Answers and frees; nothing is sent if the connection is gone or the call was answered before. */
void call_result(struct method_call *k, struct slice result);
void call_error(struct method_call *k, const struct err *e, struct slice extra);
/* Answers every open call on that view with e; their completions find nobody. */
void calls_drop_view(struct acp_conn *c, struct view *v, const struct err *e);

/* port.c */
/* The client takes MCP requests of that session from now on, and makes its model calls if it makes any. */
void conn_serve(struct acp_conn *c, struct session *s);
void conn_drop_ports(struct acp_conn *c);
/* The client takes none of that session any more. */
void conn_leave_tools(struct acp_conn *c, const struct session *s);

/* acp_model.c */
/* What the client has announced: clientCapabilities._meta.acpd. */
void conn_model_caps(struct acp_conn *c, struct slice own);
/* The client makes the model calls of that session from now on, if it makes any. */
void conn_take_models(struct acp_conn *c, struct session *s);
/* It does not drive that session any more. */
void conn_leave_models(struct acp_conn *c, const char *id);
void conn_drop_takers(struct acp_conn *c);
/* Some of what was queued has gone out. */
void conn_send_bodies(struct acp_conn *c);

/* providers.c */
/* Member "providers" of agentCapabilities, where the daemon can make calls. */
void conn_put_providers(struct jw *w);
void conn_drop_provider(struct acp_conn *c);

/* view.c */
struct view *view_find(struct acp_conn *c, const char *session_id);
struct view *view_open(struct acp_conn *c, struct session *s, uint64_t from);
/* Follows the session and changes nothing of it. */
struct view *view_observe(struct acp_conn *c, struct session *s, uint64_t from);
void view_free(struct view *v);
/* There may be events beyond its cursor. */
void view_ready(struct view *v);
/* The view of an active session, or RPC_NOT_FOUND with the session id. */
struct view *view_need(struct acp_conn *c, const char *session_id, struct err *e);
int not_found(struct err *e, const char *session_id);

/* daemon_status.c */
/* Begins to tell clients of the daemon's life. */
void daemon_status_follow(struct acp_server *srv);

/* acp_hold.c */
/* 1: the request waits until the uid that it needs is there, and is read again then. 0: it can be handled. <0: e. */
int conn_hold(struct acp_conn *c, const struct rpc_msg *m, struct err *e);

/* methods.c */
void conn_dispatch(struct acp_conn *c, const struct rpc_msg *m);

/* Handlers: 0: answered or will be; <0: e is the answer. */
typedef int (*acp_handler)(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_initialize(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_authenticate(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_session_new(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_session_load(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_session_resume(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_ack(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_session_fork(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_session_list(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_session_close(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_session_delete(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_prompt(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_steer(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_cancel(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_cancel_request(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_set_mode(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_set_model(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_set_config(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_mcp_message(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_model_attach(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_model_head(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_model_chunk(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_model_credit(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_providers_list(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_providers_set(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_providers_disable(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_network_set(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_provider_set(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_approvals_list(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_approvals_answer(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_approvals_rules(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_approvals_forget(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_usage(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
/* Decodes parameters of a method of our own: unknown ones are refused, but _meta, which the table has to hold. */
struct jfield;
int own_params(struct slice params, const struct jfield *fields, void *ret, struct err *e);
int on_materialize(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_check(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_diff(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_workspace_apply(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_session_draft(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_artifact_put(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_artifact_list(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_artifact_get(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_skills_remove(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_skills_validate(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_skills_list(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_skills_install(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_harness_list(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_tokens_mint(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_tokens_list(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_tokens_revoke(struct acp_conn *c, const struct rpc_msg *m, struct err *e);
int on_status(struct acp_conn *c, const struct rpc_msg *m, struct err *e);

/* init.c: the capability objects that depend on a harness. */
void caps_put(struct jw *w, const struct harness_caps *caps);

/* sessions.c: completion of session/new and fork; ctx is the call. */
void on_session_created(void *ctx, struct session *s, const struct err *e);
/* sessions.c: what is told of a session that was opened, or is observed. */
void session_put_opened(struct buf *b, struct acp_conn *c, struct session *s, bool with_id);
/* sessions.c: there is such a session, and fromSeq is one of its numbers. */
struct session_args;
int check_reopen(struct acp_conn *c, const struct session_args *a, struct session **ret,
		 struct err *e);
/* sessions.c: where a load or a resume begins. k->foreign: and that what the client has is of another line was told. */
uint64_t reopen_from(struct method_call *k, struct session *s);
/* sessions.c: the call of a load or resume that check_reopen let pass: which it is, and from where. */
struct method_call *call_reopen(struct acp_conn *c, const struct rpc_msg *m,
				const struct session *s, const struct session_args *a, bool load);
/* acp_observe.c: the load or resume is one that only looks. */
bool is_observing(const struct acp_conn *c, const struct session_args *a);
int observe(struct acp_conn *c, const struct rpc_msg *m, const struct session_args *a, bool load,
	    struct err *e);
/* acp_observe.c: members of what the connection's token may, if it is not all. */
void conn_put_token(struct jw *w, const struct acp_conn *c);
/* acp_harness.c: e, or what to set if its harness wants a login that the client knows no method for. */
struct err login_error(const struct acp_conn *c, const struct session *s, const struct err *e);
/* sessions.c: SESSION_DAMAGED, CWD_MISMATCH. */
int check_cwd(const struct session *s, const char *cwd, struct err *e);
/* sessions.c: answers m with e, and with the variables that are missing if it is for those. */
void session_refused(struct acp_conn *c, const struct rpc_msg *m, const struct session *s,
		     const struct session_params *p, const struct err *e);
/* sessions.c: answers m with the known ids; field: where the unknown one stood. */
/* Writes "known", the values that could have been chosen, and appends as many of them as fit to the message. */
void put_known(struct jw *w, const struct session *s, const char *category, struct err *e);
void harness_unknown(struct acp_conn *c, const struct rpc_msg *m, const char *field);

/* acp_config.c: boolean options are only for clients that announced them. */
void config_put(struct jw *w, struct slice options, unsigned client);
/* Rewrites a whole config_option_update frame. */
void config_filter_frame(struct buf *b, struct slice frame);
