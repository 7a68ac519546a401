/* SPDX-License-Identifier: Apache-2.0 */
/* acp.h - an ACP client over a wire: calls, and the count of the numbered updates that come. */
#pragma once

#include "wire.h"

#include <stdint.h>

/* What the command line says; client.c. */
extern struct settings {
	const char *transport, *path, *token_file, *agent, *cwd, *cores;
	char **argv;
	char token[256];
	long port, daemon, n, size, settle, seconds, read, hold, width, secrets;
} set;

struct acp {
	struct wire *wire;
	char session[256];
	uint64_t last_id;
	uint64_t next; /* the number the next update should have */
	uint64_t got, lost, doubled, gaps;
	size_t text_at; /* where the last update's text stood */
};

/* A connection as set; no: over SSE each number is a server of its own. */
struct acp *acp_open(unsigned no);
void acp_close(struct acp *a);
void acp_initialize(struct acp *a);
void acp_new_session(struct acp *a);
/* The same without waiting. */
uint64_t acp_ask_session(struct acp *a);

/* Sends a request and returns its id. */
uint64_t acp_ask(struct acp *a, const char *method, const char *params);
uint64_t acp_ask_prompt(struct acp *a, const char *script);
/* Counts what comes until that answer. NULL: the connection was closed first. An error ends the program. */
char *acp_answer(struct acp *a, uint64_t id, size_t *n);
/* Counts what comes until any answer and returns its id; the end of the program where the connection closes. */
uint64_t acp_next_answer(struct acp *a);
/* One update, or whatever else came. */
void acp_count(struct acp *a, const char *text, size_t n);
/* Counting begins again; updates are numbered from 1. */
void acp_count_reset(struct acp *a);
/* All of n are over: what has not come is lost. */
void acp_count_end(struct acp *a, uint64_t n);
