/* turn.h - what an ACP agent's answers mean: the end of a turn, an error's class, a permission request's soundness. */
#pragma once

#include "harnesses/harness.h"
#include "rpc/rpc.h"

void acp_turn_end_from_reply(const struct rpc_msg *reply, struct harness_turn_end *ret);
/* False if the answer has none. */
bool acp_usage_from_reply(const struct rpc_msg *reply, struct harness_usage *ret);
/* error: raw JSON-RPC error object. */
void acp_error_classify(struct slice error, struct turn_error *ret);
/* The code to pass on: the agent's own for bad parameters, else internal error. */
int acp_error_code(struct slice error);
/* A toolCall with toolCallId, and at least one option, each with a unique optionId, name and kind. */
int acp_permission_check(struct slice params);
