/* internal.h - the adapter's insides, shared by acp.c and asks.c. */
#pragma once

#include "base/list.h"
#include "harnesses/acp/acp.h"
#include "rpc/rpc.h"

/* Lines that are no JSON are forgiven before the agent has answered initialize: many print a banner. */
#define BANNER_LINES_MAX 64

enum phase { PHASE_INITIALIZE, PHASE_AUTHENTICATE, PHASE_OPEN, PHASE_READY, PHASE_FAILED };

/* A request of the agent that waits for the client. */
struct ask {
	struct list link;
	uint64_t id;
	char *rpc_id; /* raw */
};

struct harness {
	struct harness_host host;
	struct harness_caps caps;
	enum phase phase;
	enum harness_mode mode;
	bool can_resume, can_load, replaying, elicitation, boolean_config;
	char *cwd, *native_id, *auth_method;
	char *mcp_servers, *additional_dirs; /* raw */
	struct rpc_calls calls;
	struct list asks;
	uint64_t last_ask;
	unsigned banner_lines;
};

/* acp.c: one message to the child. */
int acp_send(struct harness *h, struct buf *b);
/* asks.c */
void acp_refuse(struct harness *h, struct slice id, int code, const char *reason, const char *text);
void acp_on_request(struct harness *h, const struct rpc_msg *m);
void acp_on_cancel_request(struct harness *h, struct slice params);
void acp_asks_free(struct harness *h);
