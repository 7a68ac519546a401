/* acp_internal.h - connection state shared by the files of acp/. */
#pragma once

#include "acp/acp_server.h"
#include "base/buf.h"
#include "json/jdec.h"
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
	bool may_have_keys;  /* keys may stand in the message that is being read */
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
	uint64_t from;	 /* session/load, resume: first seq wanted; 0: all or none */
	bool is_load;	 /* replay before the response */
	bool is_foreign; /* the client's numbers may mean other events here */
};

/* One request or notification while its handler runs. */
struct acp_request {
	struct acp_conn *conn;
	const struct rpc_msg *msg;
	char *id;		 /* the session that it names; NULL: it names none */
	struct session *session; /* of that id; NULL: there is none */
	struct view *
		view; /* of that session on this connection; always there if its driver has to call */
	void *args;   /* the struct of the handler's fields */
	int variant;	/* of the handler */
	struct buf out; /* the members of the result, written by w */
	struct jw w;
};

/* conn.c */
void conn_dirty(struct acp_conn *c);
void conn_queue(struct acp_conn *c, struct view *view, struct slice text);
void conn_notify(struct acp_conn *c, struct view *view, const char *method, struct slice params);
void conn_result(struct acp_conn *c, struct view *view, struct slice id, struct slice result);
void conn_error(struct acp_conn *c, struct view *view, struct slice id, const struct err *e,
		struct slice extra);
/* A request to the client, behind the events of view up to now; fn gets its answer with ctx and tag. False: too many are
 * open. */
bool conn_request(struct acp_conn *c, struct view *view, const char *method, struct slice params,
		  rpc_reply_fn fn, void *ctx, uint64_t tag);
/* params of an _acpd/gap. */
void gap_put(struct buf *b, const char *session_id, const struct evlog_gap *g);
/* Takes back our open request with that ctx and tag, if there is one; its reply function is not called. */
void conn_withdraw(struct acp_conn *c, struct view *view, const void *ctx, uint64_t tag);
void conn_close(struct acp_conn *c, int code, const char *reason);
void outgoing_free(struct acp_conn *c, struct outgoing *o);
struct method_call *call_new(struct acp_conn *c, struct slice id);
void call_free(struct method_call *k);
/* The call has its answer, or nobody to give it to; its owner below still calls back once. */
void call_unhook(struct method_call *k);
/* Answers and frees; nothing is sent if the connection is gone or the call was answered before. */
void call_result(struct method_call *k, struct slice result);
void call_error(struct method_call *k, const struct err *e, struct slice extra);
/* What starting the work of a call returned: k is freed on an error. Returns r. */
int call_started(struct method_call *k, int r);
/* call_error without extra members, or call_result; for work that has either, as its callback with the call as ctx. */
void call_done(void *call, struct slice result, const struct err *e);
/* The same for work that has no result: {}. */
void call_done_empty(void *call, struct slice result, const struct err *e);
/* Answers every open call on that view with e; their completions find nobody. */
void calls_drop_view(struct acp_conn *c, struct view *v, const struct err *e);

struct view *view_find(struct acp_conn *c, const char *session_id);
int not_found(struct err *e, const char *session_id);

/* client_calls.c */
/* The client takes MCP requests of that session from now on, and makes its model calls if it makes any. */
void conn_serve(struct acp_conn *c, struct session *s);
/* The client takes none of that session any more. */
void conn_leave_tools(struct acp_conn *c, const struct session *s);

/* What the client has announced: clientCapabilities._meta.acpd. */
void conn_model_caps(struct acp_conn *c, struct slice own);
/* It does not drive that session any more. */
void conn_leave_models(struct acp_conn *c, const char *id);
/* The client serves no session any more. */
void conn_drop_served(struct acp_conn *c);
/* Some of what was queued has gone out. */
void conn_send_bodies(struct acp_conn *c);

/* providers.c */
/* Member "providers" of agentCapabilities, where the daemon can make calls. */
void conn_put_providers(struct jw *w);
void conn_drop_provider(struct acp_conn *c);

/* view.c */
struct view *view_open(struct acp_conn *c, struct session *s, uint64_t from);
/* Follows the session and changes nothing of it. */
struct view *view_observe(struct acp_conn *c, struct session *s, uint64_t from);
void view_free(struct view *v);
/* The view of an active session, or RPC_NOT_FOUND with the session id. */
struct view *view_need(struct acp_conn *c, const char *session_id, struct err *e);

/* acp_daemon.c */
/* Begins to tell clients of the daemon's life. */
void daemon_status_follow(struct acp_server *srv);
/* The last _acpd/resumed, if there was one. */
void conn_tell_resumed(struct acp_conn *c);

/* reopen.c: an observer changes nothing, and reads what is the daemon's. observe: of _meta.acpd. */
bool conn_observes(const struct acp_conn *c, struct jval observe);

/* methods.c */
void conn_dispatch(struct acp_conn *c, const struct rpc_msg *m);

/* What run returns for the dispatcher to send the members written to request_answer() as the result. */
#define REQUEST_ANSWER 1

/* A method. run: 0: answered, or it will be; REQUEST_ANSWER; <0: e is the answer. */
struct acp_handler {
	int (*run)(struct acp_request *q, struct err *e);
	const struct jfield *fields; /* of the parameters; NULL: run decodes them */
	size_t args_size;
	int variant;	 /* tells methods apart that share run */
	bool unknown_ok; /* a session that is named and does not exist is no error */
	bool is_secret;	 /* the answer is wiped once it is queued */
};

#define ACP_HANDLER(name, fn, st, table, ...)                                                      \
	const struct acp_handler name = {                                                          \
		.run = (fn), .fields = (table), .args_size = sizeof(st), __VA_ARGS__               \
	}

/* Parameters of methods that take a session alone, or one if they are not to be about all. */
struct named_session {
	char *session_id;
	struct slice meta;
};
extern const struct jfield session_fields[], any_session_fields[];

extern const struct acp_handler on_initialize, on_authenticate, on_session_new, on_session_load,
	on_session_resume, on_session_fork, on_session_list, on_session_close, on_session_delete,
	on_ack, on_prompt, on_steer, on_cancel, on_cancel_request, on_set_mode, on_set_model,
	on_set_config, on_mcp_message, on_model_attach, on_model_head, on_model_chunk,
	on_model_credit, on_providers_list, on_providers_set, on_providers_disable, on_network_set,
	on_provider_set, on_approvals_list, on_approvals_answer, on_approvals_rules,
	on_approvals_forget, on_usage, on_materialize, on_check, on_diff, on_workspace_apply,
	on_session_draft, on_artifact_put, on_artifact_list, on_artifact_get, on_skills_remove,
	on_skills_validate, on_skills_list, on_skills_install, on_harness_list, on_tokens_mint,
	on_tokens_list, on_tokens_revoke, on_status;

/* Opens the object of the answer; the dispatcher closes it. */
struct jw *request_answer(struct acp_request *q);
/* Opens a call that is answered later, behind the events of its session up to then. */
struct method_call *request_call(const struct acp_request *q);
/* The same for work on the files of its session, which a cancellation stops; the answer waits for no events. */
struct method_call *request_work(const struct acp_request *q);

/* init.c: the capability objects that depend on a harness. */
void caps_put(struct jw *w, const struct harness_caps *caps);

/* sessions.c: what is told of a session that was opened, or is observed. */
void session_put_opened(struct buf *b, struct acp_conn *c, struct session *s, bool with_id);
/* sessions.c: answers a request for a session that could not be opened, with what could have been asked for instead. */
void call_open_error(struct method_call *k, const struct session *s, const struct err *e);
/* sessions.c: answers with e, and with the variables that are missing if it is for those. */
void session_refused(const struct acp_request *q, const struct session *s,
		     const struct session_params *p, const struct err *e);
/* sessions.c: SESSION_DAMAGED, CWD_MISMATCH. */
int check_cwd(const struct session *s, const char *cwd, struct err *e);
/* acp_daemon.c: e, or what to set if its harness wants a login that the client knows no method for. */
struct err login_error(const struct acp_conn *c, const struct session *s, const struct err *e);
/* acp_settings.c: writes "known", the values that could have been chosen, and appends as many of them as fit to the message. */
void put_known(struct jw *w, const struct session *s, const char *category, struct err *e);
/* acp_daemon.c: answers with the ids of the installed harnesses; field: where the unknown one stood. */
void harness_unknown(const struct acp_request *q, const char *field);

/* acp_settings.c: boolean options are only for clients that announced them. */
void config_put(struct jw *w, struct slice options, unsigned client);
/* Rewrites a whole config_option_update frame. */
void config_filter_frame(struct buf *b, struct slice frame);
