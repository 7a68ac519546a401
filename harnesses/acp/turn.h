/* turn.h - reads an ACP agent's answers: the end of a turn, an error's class, whether a permission request is valid. */
#pragma once

#include "harnesses/harness.h"
#include "rpc/rpc.h"

void acp_turn_end_from_reply(const struct rpc_msg *reply, struct harness_turn_end *ret);
/* An error that an agent reported as text; fills what the reply did not have, and makes the turn failed. */
void acp_error_from_text(const char *text, struct harness_turn_end *end);
/* error: raw JSON-RPC error object. */
void acp_error_classify(struct slice error, struct turn_error *ret);
/* The code to pass on: the agent's own for bad parameters, else internal error. */
int acp_error_code(struct slice error);
/* A toolCall with toolCallId, and at least one option, each with a unique optionId, name and kind. */
int acp_permission_check(struct slice params);
