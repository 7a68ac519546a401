/*
 * egress_reason.h - why acpd-proxy refuses a request: the closed list of what its header acpd-reason says, with the
 * status of the answer. Pure.
 *
 * Some of them are blocks: the session's rules, or what keeps them, refused it. The daemon is told the first of each
 * host. The others are failures, or mistakes of the client.
 */
#pragma once

#include "base/slice.h"

enum egress_reason {
	EGRESS_FINE, /* none */
	/* its host */
	EGRESS_HOST_NOT_ALLOWED,
	EGRESS_PORT_NOT_ALLOWED,
	EGRESS_HOST_INVALID,
	EGRESS_HOST_MISMATCH,
	EGRESS_ADDRESS_NOT_ALLOWED,
	EGRESS_ASK_DENIED,
	EGRESS_ASK_TIMEOUT,
	EGRESS_ASK_TOO_MANY,
	/* the first bytes in a tunnel: there is no answer, it is closed */
	EGRESS_SNI_MISMATCH,
	EGRESS_SNI_MISSING,
	EGRESS_HELLO_INVALID,
	EGRESS_NOT_TLS,
	/* its request */
	EGRESS_CALLER_NOT_ALLOWED,
	EGRESS_REQUEST_INVALID,
	EGRESS_REQUEST_TOO_LARGE,
	EGRESS_TOO_MANY_CONNECTIONS,
	/* the far side */
	EGRESS_NAME_NOT_FOUND,
	EGRESS_LOOKUP_FAILED,
	EGRESS_LOOKUP_TIMEOUT,
	EGRESS_CONNECT_FAILED,
	EGRESS_CONNECT_TIMEOUT,
	EGRESS_ANSWER_INVALID,
	EGRESS_REASON_MAX,
};

struct egress_reason_row {
	const char *name;   /* "HOST_NOT_ALLOWED" */
	const char *status; /* the status line behind the version; NULL: there is no answer */
	const char *text;   /* one sentence */
	bool blocks;
};
extern const struct egress_reason_row egress_reasons[EGRESS_REASON_MAX];

/* EGRESS_FINE: there is none of that name. */
enum egress_reason egress_reason_find(struct slice name);
