/*
 * mcp_front_internal.h - what the files of the front share.
 *
 *	mcp_front.c   messages in and out, the era, open requests
 *	front_modern.c  a client of 2026-07-28: checks, and everything passes
 *	front_legacy.c  the facade of an older server: initialize, ping, log level, results and errors in its words
 *	front_questions.c    "input_required": questions to a legacy client, and the request again with its answers
 *	front_heartbeat.c   progress of our own while a request is silent
 *	front_subscriptions.c  subscriptions and list_changed of a legacy client, over one subscriptions/listen
 *
 * A front_request is one request of the client, from its arrival until it is answered or cancelled. Its holder ends it
 * by one of the front_request_* functions, which free it. Raw JSON has no NUL bytes: copies of it are C strings.
 */
#pragma once

#include "base/limits.h"
#include "rpc/rpc.h"
#include "tools/mcp/mcp_front.h"
#include "tools/mcp/msg.h"

enum era { ERA_OPEN, ERA_LEGACY, ERA_MODERN };

/* One subscriptions/listen. */
struct front_stream {
	struct mcp_front *front;
	struct mcp_call *call;
	unsigned covers; /* covers changes of the wanted set up to this number */
	bool idle;	 /* acknowledged with nothing in it: its end is no loss */
	struct loop_timer patience;
};

/* What a legacy client subscribes to. */
struct front_subscriptions {
	struct list watches; /* resources */
	unsigned watching;
	bool wants_lists;		  /* notifications/initialized came: list_changed, too */
	unsigned wanted;		  /* counts changes of the above */
	struct front_stream *live, *next; /* acknowledged; not yet: the set changed since */
	bool lost; /* a live one ended by itself: something may have been missed */
	unsigned tries;
	struct loop_task change;
	struct loop_timer retry;
};

struct mcp_front {
	struct loop *loop;
	struct mcp_backend *backend;
	const struct mcp_front_ops *ops;
	void *ctx;
	enum era era;
	struct list open; /* struct front_request */
	unsigned count;
	unsigned heartbeat_ms; /* MCP_HEARTBEAT_MS; tests set less */

	/* Of a legacy client. */
	const char *revision;
	char *client_capabilities, *client_info; /* raw; info may be NULL */
	char *server_capabilities;		 /* raw; NULL: initialize is not answered */
	struct front_request *starting;		 /* initialize */
	const char *log_level;			 /* NULL: none */
	size_t held;				 /* bytes of params kept */
	struct rpc_calls asks;
	struct front_subscriptions listen;
};

struct front_request {
	struct list link;
	struct mcp_front *front;
	char *id;			   /* raw */
	const struct mcp_method *method;   /* NULL: of an extension */
	struct mcp_call *call;		   /* NULL: the backend does not have it now */
	struct front_heartbeat *heartbeat; /* NULL: its client asked for no progress */

	/* Of a legacy client. */
	char *params; /* raw, as they came: for the next round; of a subscription its resource */
	unsigned rounds;
	char *state;	    /* requestState, raw, or NULL */
	struct list asks;   /* not yet answered */
	struct buf answers; /* raw members of inputResponses */
	struct loop_timer timer;
	unsigned change; /* waits for this change of the wanted set; 0: does not wait */
};

/* --- mcp_front.c --- */
/* An answer in pieces: begin puts what comes before the value (member: "result" or "error"), end what comes after,
 * and sends it. */
void front_request_begin(const struct front_request *x, struct buf *b, const char *member,
			 size_t room);
void front_request_end(struct front_request *x, struct buf *b);
void front_request_result(struct front_request *x, struct slice result);
/* error: raw, as it came. Replaces codes of our own transports to a server, and for a legacy client those that its era
 * does not have. */
void front_request_error(struct front_request *x, struct slice error);
void front_request_refuse(struct front_request *x, const struct err *e, struct slice extra);
/* Frees it without an answer. */
void front_request_free(struct front_request *x);
/* Keeps raw text as x->params; -EBUSY if the client's open requests hold too much together. */
int front_request_keep(struct front_request *x, struct slice raw, struct err *e);
/* Passes it to the backend, which calls back with x. */
void front_request_call(struct front_request *x, const char *method, const struct buf *params,
			const struct mcp_reply_ops *ops);
/* request: raw id, or empty. */
void front_notify(struct mcp_front *f, const char *method, struct slice params,
		  struct slice request);
void front_send(struct mcp_front *f, const struct buf *message, struct slice request, bool last);

/* --- front_modern.c --- */
void front_modern_request(struct front_request *x, const struct rpc_msg *m);

/* --- front_legacy.c --- */
void front_legacy_request(struct front_request *x, const struct rpc_msg *m);
void front_legacy_notification(struct mcp_front *f, const struct rpc_msg *m);
/* The raw members of _meta that every request upstream gets. */
void front_legacy_members(const struct mcp_front *f, struct buf *out);
/* params: as the client gave them. */
void front_legacy_call(struct front_request *x, const char *method, struct slice params,
		       const struct mcp_reply_ops *ops);
/* The ordinary end of a call, and of each round. */
extern const struct mcp_reply_ops front_legacy_replies;
void front_legacy_result(struct front_request *x, struct slice result);
/* True if the server's capability group has this flag. */
bool front_legacy_server_can(const struct mcp_front *f, const char *group, const char *flag);

/* --- front_questions.c --- */
void front_questions_begin(struct front_request *x, struct slice result);
/* Withdraws open questions; tell: the client is notified. */
void front_questions_drop(struct front_request *x, bool tell);

/* --- front_heartbeat.c --- */
/* params: as they came. */
void front_heartbeat_begin(struct front_request *x, struct slice params);
/* Call it for a notification of the server. False: it is not passed on, because it is progress that the request did not
 * ask for; strict clients end the connection over a token that they did not give. */
bool front_heartbeat_heard(struct front_request *x, const char *method, struct slice params);
void front_heartbeat_end(struct front_request *x);

/* --- front_subscriptions.c --- */
void front_subscriptions_init(struct mcp_front *f);
void front_subscriptions_done(struct mcp_front *f);
void front_subscriptions_lists(struct mcp_front *f);
void front_subscriptions_subscribe(struct front_request *x, const struct rpc_msg *m);
void front_subscriptions_unsubscribe(struct front_request *x, const struct rpc_msg *m);
/* A subscription that its client has cancelled before it was taken. */
void front_subscriptions_forget(struct mcp_front *f, const char *uri);
