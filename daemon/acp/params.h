/*
 * params.h - what clients may say about a session: parameters of session/new, load and resume, decoded and checked in
 * full before anything happens. Errors name the field; what we cannot do is refused, never dropped.
 */
#pragma once

#include "acp/acp_internal.h"

struct session_args {
	char *session_id, *cwd;
	struct jval mcp_servers, additional_dirs; /* raw; checked by session_args_check */
	struct jval system_prompt;
	struct slice meta;
	/* from _meta.acpd */
	struct setup_params setup;
	char *harness, *incarnation;
	struct jval observe;
	struct request_args provision;
	int64_t from_seq;
	struct request request; /* of provision, found by session_args_check */
};

/* What the connection says of whoever opens a session on it. */
struct session_params opener_params(const struct acp_conn *c);

enum session_call { CALL_NEW, CALL_LOAD, CALL_RESUME, CALL_FORK };

/* Decodes; on error nothing needs freeing. */
int session_args_decode(struct slice params, enum session_call call, struct session_args *ret,
			struct err *e);
void session_args_free(struct session_args *a);
/* Checks servers and directories against what the harness can do, and fills p (borrowing from a). */
int session_args_check(struct session_args *a, const struct harness_caps *caps,
		       struct session_params *p, struct err *e);
/* The parts of the above that are _meta.acpd's (meta.c). */
int meta_args_decode(struct session_args *a, enum session_call call, struct err *e);
int meta_args_check(struct session_args *a, const struct harness_caps *caps,
		    struct session_params *p, struct err *e);
void meta_args_free(struct session_args *a);
/* A list of checks; empty: there is none. field: where it stands. */
int checks_check(struct slice raw, const char *field, struct err *e);
/* ceiling.c. Whether the token of this connection may give the session p. */
int check_ceiling(const struct acp_conn *c, const struct session *s, const struct setup_params *p,
		  struct err *e);
/* Arguments without a provider get that of the connection, if it has one, for a harness; text: where it is kept. */
void conn_give_provider(const struct acp_conn *c, const struct harness_def *def,
			struct session_args *a, struct buf *text);
