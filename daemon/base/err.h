/*
 * err.h - how failures travel.
 *
 * Functions return 0 for success, a negative errno that is fatal for the operation and is passed on unchanged, or
 * a positive condition documented at the prototype which the caller must handle and may not pass on.
 * Where a human or a peer will read the text (configuration, spawn, protocol) the last parameter is a
 * struct err on the caller's stack: no heap, nothing to free. The JSON-RPC code and the stable reason word
 * are chosen where the error is made; callers add context with err_wrap on the way up.
 */
#pragma once

#include "base/util.h"

enum rpc_code {
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_METHOD_NOT_FOUND = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_INTERNAL_ERROR = -32603,
	RPC_CANCELLED = -32800,
	RPC_AUTH_REQUIRED = -32000,
	RPC_NOT_FOUND = -32002, /* ACP: resource not found */
};

#define ERR_MSG_SIZE 256

struct err {
	int rpc;	    /* JSON-RPC code for a peer; 0: not decided */
	char reason[40];    /* UPPER_SNAKE word, stable, for programs */
	char field[96];	    /* the offending field, as a path; may be empty */
	char scope[8];	    /* what a token would need for it; may be empty */
	char session[1032]; /* session id the error is about; may be empty */
	char msg[256];	    /* one sentence for humans, no newline, no secret */
};

/* Fills e (which may be NULL) and returns code, so that `return err_set(e, -EINVAL, ...)` reads well. */
int err_set(struct err *e, int code, int rpc, const char *reason, const char *fmt, ...)
	_printf_(5, 6);
/* The same with the field that is to blame; always -EINVAL and RPC_INVALID_PARAMS. */
int err_field(struct err *e, const char *field, const char *reason, const char *fmt, ...)
	_printf_(4, 5);
/* Makes foreign text fit for a one-line message, in place: control bytes become spaces, and an incomplete UTF-8
 * character at the end is removed. */
void err_flatten(char *text);
/* The field stands elsewhere: without that prefix, in the message too. */
void err_unprefix(struct err *e, const char *prefix);
/* Puts "context: " before the message. */
void err_wrap(struct err *e, const char *fmt, ...) _printf_(2, 3);
