/* upstream_legacy_internal.h - the parts of a legacy server's side: upstream_legacy.c (calls, results, notices),
 * legacy_questions.c (its questions), legacy_subscriptions.c (subscriptions). */
#pragma once

#include "digest/digest.h"
#include "tools/upstream/upstream.h"

struct legacy {
	struct upstream *u;
	struct buf hello, discover; /* results of initialize, and of server/discover */
	bool logging, subscribe, tools_changed, prompts_changed, resources_changed;
	enum mcp_severity level; /* what was sent to it last */
	struct list calls;	 /* struct legacy_call, oldest first */
	struct list background;	 /* requests whose answer is ignored */
	struct list listens, watched;
	/* legacy_questions.c */
	unsigned char secret[SHA256_BYTES];
	uint64_t last_key;
	unsigned held;
};

/* A question of the server within a call. */
struct legacy_question {
	struct list link;
	unsigned no; /* its key in inputRequests */
	struct buf id, params;
	const char *method;
};

/* A request of ours that the server works on. Its caller may be away to get answers; then there is no outer call. */
struct legacy_call {
	struct list link;
	struct legacy *l;
	struct upstream_call *outer;
	struct upstream_rpc_request rq;
	bool may_ask, cacheable, is_read;
	/* of those that may ask */
	char *who;
	struct buf caps; /* of the client */
	struct sha256 digest;
	struct list asks;
	unsigned nasks, last_ask;
	uint64_t key; /* while there is no outer call */
	uint64_t expires;
	struct loop_timer ttl;
	struct loop_task task;
	struct buf result, error; /* came while the caller was away; in modern words */
};

/* upstream_legacy.c */
void legacy_call_free(struct legacy_call *lc);
/* Sends a request whose answer is ignored. */
void legacy_request_background(struct legacy *l, const char *method, struct slice params);

/* legacy_questions.c */
void legacy_questions_free(struct legacy_call *lc);
/* Keeps what is needed of a request in which the server may ask; sent: params without _meta. */
void legacy_questions_begin(struct legacy_call *lc, const struct upstream_call *c,
			    struct slice params, struct slice sent);
void legacy_questions_asked(struct legacy *l, struct legacy_call *lc, struct slice id,
			    const char *method, struct slice params);
/* The server withdraws a question. */
void legacy_questions_unasked(struct legacy *l, struct slice id);
/* The caller is back with requestState; c is answered, or has the call again. sent as above. */
void legacy_questions_resume(struct legacy *l, struct upstream_call *c, struct slice params,
			     struct slice sent);
/* Answers its questions with an error. */
void legacy_questions_drop_asks(struct legacy_call *lc);

/* legacy_subscriptions.c */
void legacy_subscription_begin(struct legacy *l, struct upstream_call *c, struct slice params);
/* is_up: the server is still there, so resources without another listener are unsubscribed. */
void legacy_subscription_end(struct upstream_call *c, bool is_up);
void legacy_subscription_notified(struct legacy *l, const char *method, struct slice params);
/* Subscribes to all resources once more. */
void legacy_subscription_again(struct legacy *l);
/* Frees what is left when there is no listen. */
void legacy_subscription_done(struct legacy *l);
