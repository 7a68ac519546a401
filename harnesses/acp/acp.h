/* acp.h - the generic stdio ACP adapter: any agent that speaks ACP v1 as JSON lines. */
#pragma once

#include "harnesses/harness.h"

const struct harness_asking *harness_acp_asks(const struct harness_def *def,
					      enum harness_approval approval, bool inner_sandbox);
int harness_acp_plan(const struct harness_def *def, const struct harness_req *req,
		     struct harness_plan *plan, struct err *e);
struct harness *harness_acp_open(const struct harness_def *def, const struct harness_req *req,
				 const struct harness_host *host);
int harness_acp_start(struct harness *h, struct err *e);
int harness_acp_on_line(struct harness *h, struct slice line, struct err *e);
int harness_acp_prompt(struct harness *h, struct slice content, struct slice meta, struct err *e);
void harness_acp_cancel(struct harness *h);
void harness_acp_answer(struct harness *h, uint64_t ask_id, struct slice result);
int harness_acp_set_mode(struct harness *h, uint64_t token, const char *mode, struct err *e);
int harness_acp_set_config(struct harness *h, uint64_t token, struct slice params, struct err *e);
int harness_acp_steer(struct harness *h, uint64_t token, struct slice content, struct err *e);
struct harness *harness_acp_free(struct harness *h);

/* For the tables of adapters whose program speaks ACP and only starts differently. */
#define HARNESS_ACP_PROTOCOL                                                                       \
	.start = harness_acp_start, .on_line = harness_acp_on_line, .prompt = harness_acp_prompt,  \
	.cancel = harness_acp_cancel, .answer = harness_acp_answer,                                \
	.set_mode = harness_acp_set_mode, .set_config = harness_acp_set_config,                    \
	.steer = harness_acp_steer, .free = harness_acp_free
