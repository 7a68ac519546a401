/*
 * rpc.h - JSON-RPC 2.0 as ACP uses it, for both sides we speak to: orchestrators and harnesses.
 *
 * rpc_parse classifies one message; ids stay raw text and are echoed byte for byte. Encoders append one message,
 * without newline, to a buf. struct rpc_calls is the table of our own open requests towards one peer: ids are
 * positive, below 2^31 (a 32-bit reader exists), never reused while open, and independent of the peer's ids.
 * None of these functions does I/O.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/list.h"
#include "json/jscan.h"

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESPONSE };

struct rpc_msg {
	enum rpc_kind kind;
	struct slice id; /* raw JSON; empty for notifications */
	char method[METHOD_NAME_MAX + 1];
	struct slice params; /* raw object; "{}" if absent or null */
	struct slice result; /* responses: raw value, or empty */
	struct slice error;  /* responses: raw object, "{}" for an error that is none; or empty */
	bool repair;	     /* its text is to be repaired: jscan_message */
};

enum rpc_parse_result {
	RPC_PARSED = 0,
	RPC_E_ANSWER,	   /* e is the answer; m->id is the id to answer to ("null" if unknown) */
	RPC_E_IGNORE,	   /* malformed notification or response: no answer is allowed */
	RPC_E_ID_TOO_LONG, /* an id above RPC_ID_MAX: the connection is closed */
};

enum rpc_parse_result rpc_parse(struct slice text, struct rpc_msg *m, struct err *e);
/* The same, and in the same pass looks for members of params. */
enum rpc_parse_result rpc_parse_params(struct slice text, struct rpc_msg *m, struct jslot *params,
				       size_t n, struct err *e);

/* The same as rpc_parse. Text that is not Unicode is repaired in a copy, which goes to b and which m borrows from; its id stays,
 * or an answer would find no request. */
enum rpc_parse_result rpc_parse_repaired(struct slice text, struct buf *b, struct rpc_msg *m,
					 struct err *e);

/* Repairs the halves of surrogate pairs in the text that m was parsed from, but not those of its id: m stays what it is. How
 * many there were. */
size_t rpc_repair_halves(char *text, size_t n, const struct rpc_msg *m);

void rpc_put_result(struct buf *b, struct slice id, struct slice result);
/* data = {reason, field?, sessionId?, <extra members>}; extra is "" or raw members such as "\"known\":[]". */
void rpc_put_error(struct buf *b, struct slice id, const struct err *e, struct slice extra);
/* Returns -ENOSYS with e, which names the method of m. */
int rpc_no_method(const struct rpc_msg *m, struct err *e);
void rpc_put_notification(struct buf *b, const char *method, struct slice params);
void rpc_put_request(struct buf *b, uint32_t id, const char *method, struct slice params);

/* One open request of ours. on_reply gets the response, or NULL when the peer is gone or the table is dropped. */
struct rpc_call;
typedef void (*rpc_reply_fn)(void *ctx, uint64_t tag, const struct rpc_msg *reply);

struct rpc_calls {
	struct list open;
	unsigned count;
	uint32_t last_id;
};

void rpc_calls_init(struct rpc_calls *t);
/* Answers every open call with NULL. */
void rpc_calls_done(struct rpc_calls *t);
/* Returns the new id, or 0 if RPC_PENDING_MAX are open. tag is handed back to fn. */
uint32_t rpc_calls_add(struct rpc_calls *t, rpc_reply_fn fn, void *ctx, uint64_t tag);
/* Finds the call a response belongs to, removes it and calls its fn. False: unknown id, drop it. */
bool rpc_calls_reply(struct rpc_calls *t, const struct rpc_msg *reply);
/* Forgets a call without calling back. */
void rpc_calls_drop(struct rpc_calls *t, uint32_t id);
/* Forgets all calls with that ctx. */
void rpc_calls_drop_ctx(struct rpc_calls *t, const void *ctx);
/* Finds the open call with that ctx and tag; 0 if none. */
uint32_t rpc_calls_find(const struct rpc_calls *t, const void *ctx, uint64_t tag);
