/*
 * client_words.h - what the commands that are ACP clients (run, bundle rerun) say in the same words.
 */
#pragma once

#include "net/client/daemon_link.h"
#include "rpc/rpc.h"

/* session/cancel: the turn that runs is to end. */
void client_cancel(struct daemon_link *l, const char *session_id);
/* The answer to a request that the command does not know: METHOD_NOT_FOUND. */
void client_refuse(struct daemon_link *l, const struct rpc_msg *m);
/* The answer to session/request_permission. chosen: an optionId as JSON; empty: "cancelled". */
void client_permit(struct daemon_link *l, const struct rpc_msg *m, struct slice chosen);
