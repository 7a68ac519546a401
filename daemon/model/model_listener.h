/*
 * model_listener.h - the local end of a session's model calls: a listener on the loopback, where its harness finds what
 * looks like its provider.
 *
 * The harness is given a base URL and a virtual key, 256 bits, that opens this listener and nothing else. The address is one of
 * 127.0.0.0/8 but not 127.0.0.1, because E2B publishes what listens there. What passes stands in model_api.h; the
 * rest is refused here, and counted. A call that passes is handed over whole, its body in memory; the answer streams.
 * Where the harness runs as a user of its own, a caller that is another user is refused whatever key it has
 * (base/net/sock_owner.h).
 *
 * Whoever takes a call (ops->call) answers it by the functions of struct model_call, each call with one end. Bytes of an
 * answer that the harness has not taken yet are kept here, so the taker sends no more than its window and goes on when
 * `taken` says so. All callbacks come from the loop, never from inside a function called here.
 */
#pragma once

#include "base/err.h"
#include "loop/loop.h"
#include "model/model_api.h"

#include <netinet/in.h>

#define MODEL_KEY_SIZE                                                                             \
	sizeof("acpd-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")
#define MODEL_HOST_SIZE sizeof("127.255.255.255")
#define MODEL_URL_SIZE sizeof("http://127.255.255.255:65535/model/v1beta")

struct model_listener;
struct model_call;

/* Where a listener is, and what opens it. */
struct model_place {
	struct sockaddr_in at;
	char host[MODEL_HOST_SIZE]; /* its address alone, without a port */
	char url[MODEL_URL_SIZE], key[MODEL_KEY_SIZE];
	bool checks_caller; /* not the key alone decides who may call */
};

/* Why a request gets no answer of a provider. Each has a status and a word (model_answer.c). */
enum model_refusal {
	MODEL_KEY_WRONG,
	MODEL_REQUEST_INVALID,
	MODEL_PATH_NOT_ALLOWED,
	MODEL_UPGRADE,
	MODEL_HEAD_TOO_LARGE,
	MODEL_BODY_TOO_LARGE,
	MODEL_TOO_MANY_CALLS,
	MODEL_CALLS_PER_MINUTE,
	MODEL_NOT_ALLOWED,
	MODEL_BUDGET_SPENT,
	MODEL_NO_MEMORY,
	MODEL_NO_TAKER,
	MODEL_CALL_FAILED,
	MODEL_CALL_TIMEOUT,
	MODEL_UNREACHABLE,
	MODEL_ADDRESS_REFUSED,
	MODEL_NO_FETCH,
	MODEL_NO_LOCK,
	MODEL_REFUSAL_MAX,
};

/* Of all listeners of a daemon. All zeros but loop is right. */
struct model_listeners {
	struct loop *loop;
	int owners; /* what callers are looked up with; 0: not needed yet; negative: cannot be had */
	size_t body_bytes; /* of requests in memory */
	uint64_t calls, refused[MODEL_REFUSAL_MAX];
};

struct model_request {
	enum model_api api;
	struct slice method, path; /* from the API's root on, with its query */
	struct slice headers;	   /* raw object: those that pass */
	struct slice body;	   /* empty, or one JSON object */
	const char *model;	   /* as the request names it; NULL: it names none */
};

/* Where it listens, and whose connections it takes. */
struct model_reach {
	int socket; /* an unbound one of another network namespace, which is whose it is; taken. -1: one of ours */
	bool one_user; /* only those of uid, where the kernel says whose a connection is */
	uid_t uid;
};

/* What holds for the calls of a listener, asked for each of them: it may change between two. */
struct model_terms {
	unsigned calls_max; /* open at a time */
	bool quota;	    /* a refusal for good is a 429 insufficient_quota, else a 402 */
};

struct model_listener_ops {
	/* It is answered, now or later. */
	void (*call)(void *ctx, struct model_call *c);
	struct model_terms (*terms)(void *ctx);
	/* For the log, at once: a request has been refused, or its answer was cut. */
	void (*refused)(void *ctx, enum model_refusal why);
};

/* What the taker of a call hears of it. */
struct model_call_ops {
	void (*taken)(void *ctx,
		      size_t n); /* so many bytes of the answer have left for the harness */
	void (*gone)(void *ctx); /* the harness does not want it any more; c is gone */
};

/* NULL with e: no address could be had. */
struct model_listener *model_listener_new(struct model_listeners *all,
					  const struct model_reach *reach, enum model_api api,
					  const struct model_listener_ops *ops, void *ctx,
					  struct err *e);
/* From the next request on these pass besides the API's own: as model_paths_check takes them, or empty. */
void model_listener_allow(struct model_listener *g, struct slice paths);
/* Cuts what is open; the takers hear of it. Takes NULL. */
struct model_listener *model_listener_free(struct model_listener *g);
const struct model_place *model_listener_place(const struct model_listener *g);
/* All listeners are gone. */
void model_listeners_done(struct model_listeners *all);

/* The slices live as long as the call. */
const struct model_request *model_call_request(const struct model_call *c);
void model_call_follow(struct model_call *c, const struct model_call_ops *ops, void *ctx);
/* Once, first. headers: raw object of strings, of which those pass that a harness may see. False: a harness cannot be
 * given such a status; the call has been refused, and is gone. */
bool model_call_head(struct model_call *c, int status, struct slice headers);
void model_call_data(struct model_call *c, struct slice bytes);
/* The ends; c is gone after. Refused after its head, a call is cut: the harness sees that the answer is not whole. */
void model_call_end(struct model_call *c);
void model_call_refuse(struct model_call *c, enum model_refusal why);
/* Before its head: refused, and asked to come again after so many seconds, or (0) as the refusal has it. */
void model_call_refuse_until(struct model_call *c, enum model_refusal why, unsigned secs);
/* The refusal's word, as "MODEL_NOT_ALLOWED". */
const char *model_refusal_word(enum model_refusal why);
