/* SPDX-License-Identifier: Apache-2.0 */
#include "acp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct acp *acp_open(unsigned no)
{
	struct acp *a = need(calloc(1, sizeof(*a)));
	char server[32];

	snprintf(server, sizeof(server), "bench%u", no);
	if (strcmp(set.transport, "pipe") == 0)
		a->wire = wire_pipe(set.argv);
	else if (strcmp(set.transport, "sse") == 0)
		a->wire = wire_sse((int)set.port, server, set.agent);
	else
		a->wire = wire_ws((int)set.port, set.path, set.token[0] ? set.token : NULL);
	return a;
}

void acp_close(struct acp *a)
{
	a->wire = wire_free(a->wire);
	free(a);
}

/* The digits of an update's text, 0 if it has none. Its place hardly ever changes. */
static uint64_t number_in(struct acp *a, const char *text, size_t n)
{
	static const char key[] = "\"text\":\"";
	const char *at = a->text_at + sizeof(key) + 10 < n ? text + a->text_at : NULL;
	uint64_t v = 0;

	if (!at || memcmp(at, key, sizeof(key) - 1) != 0)
		at = memmem(text, n, key, sizeof(key) - 1);
	if (!at || at + sizeof(key) + 10 > text + n)
		return 0;
	a->text_at = (size_t)(at - text);
	at += sizeof(key) - 1;
	for (int i = 0; i < 10; i++) {
		if (at[i] < '0' || at[i] > '9')
			return 0;
		v = v * 10 + (uint64_t)(at[i] - '0');
	}
	return v;
}

void acp_count(struct acp *a, const char *text, size_t n)
{
	uint64_t no = number_in(a, text, n);

	if (memmem(text, n < 64 ? n : 64, "_acpd/gap", 9))
		a->gaps++;
	if (!no)
		return;
	a->got++;
	if (no < a->next) {
		a->doubled++;
		return;
	}
	a->lost += no - a->next;
	a->next = no + 1;
}

static bool is_call(const char *text, size_t n)
{
	return memmem(text, n < 64 ? n : 64, "\"method\":", 9);
}

uint64_t acp_ask(struct acp *a, const char *method, const char *params)
{
	char text[8192 + 128];
	int n = snprintf(text, sizeof(text),
			 "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64 ",\"method\":\"%s\",\"params\":%s}",
			 ++a->last_id, method, params);

	wire_send(a->wire, text, (size_t)n);
	return a->last_id;
}

static bool answers(const char *text, size_t n, uint64_t id)
{
	const char *at = memmem(text, n < 64 ? n : 64, "\"id\":", 5);

	return at && !is_call(text, n) && strtoull(at + 5, NULL, 10) == id;
}

/* Counts what comes until the answer; the answer must be no error. NULL: the connection is closed. */
char *acp_answer(struct acp *a, uint64_t id, size_t *ret_n)
{
	char *text;

	while (wire_recv(a->wire, &text, ret_n, -1)) {
		if (!answers(text, *ret_n, id)) {
			acp_count(a, text, *ret_n);
			continue;
		}
		if (memmem(text, *ret_n, "\"error\":", 8))
			die("refused: %.*s", (int)*ret_n, text);
		return text;
	}
	return NULL;
}

uint64_t acp_next_answer(struct acp *a)
{
	const char *at;
	char *text;
	size_t n;

	while (wire_recv(a->wire, &text, &n, -1)) {
		at = memmem(text, n < 64 ? n : 64, "\"id\":", 5);
		if (!at || is_call(text, n)) {
			acp_count(a, text, n);
			continue;
		}
		if (memmem(text, n, "\"error\":", 8))
			die("refused: %.*s", (int)n, text);
		return strtoull(at + 5, NULL, 10);
	}
	die("the connection is closed (%d)", a->wire->close_code);
}

static char *call(struct acp *a, const char *method, const char *params, size_t *n)
{
	char *text = acp_answer(a, acp_ask(a, method, params), n);

	if (!text)
		die("%s: the connection is closed (%d)", method, a->wire->close_code);
	return text;
}

void acp_initialize(struct acp *a)
{
	size_t n;

	call(a, "initialize",
	     "{\"protocolVersion\":1,\"clientCapabilities\":{\"_meta\":{\"acpd\":{}}},"
	     "\"clientInfo\":{\"name\":\"bench\",\"version\":\"0\"}}",
	     &n);
}

/* As many variables that hold keys of the usual length, none of which occurs in what is said. */
static void put_secrets(FILE *f)
{
	unsigned long v = 88172645463325252ul;

	for (long i = 0; i < set.secrets; i++) {
		fprintf(f, "%s\"BENCH_%ld_KEY\":\"sk-", i ? "," : "", i);
		for (int k = 0; k < 48; k++) {
			v ^= v << 13;
			v ^= v >> 7;
			v ^= v << 17;
			fputc("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"[v %
											       62],
			      f);
		}
		fputc('"', f);
	}
}

uint64_t acp_ask_session(struct acp *a)
{
	char params[8192];
	FILE *f = fmemopen(params, sizeof(params), "w");

	if (!f)
		die("fmemopen: %m");
	fprintf(f, "{\"cwd\":\"%s\",\"mcpServers\":[],\"_meta\":{\"acpd\":{\"env\":{", set.cwd);
	put_secrets(f);
	fputs("}}}}", f);
	fclose(f);
	return acp_ask(a, "session/new", params);
}

void acp_new_session(struct acp *a)
{
	static const char key[] = "\"sessionId\":\"";
	char *text, *at;
	size_t n;

	text = acp_answer(a, acp_ask_session(a), &n);
	if (!text)
		die("session/new: the connection is closed (%d)", a->wire->close_code);
	at = memmem(text, n, key, sizeof(key) - 1);
	if (!at || sscanf(at + sizeof(key) - 1, "%255[^\"]", a->session) != 1)
		die("no session id");
}

uint64_t acp_ask_prompt(struct acp *a, const char *script)
{
	char params[1024];

	snprintf(params, sizeof(params),
		 "{\"sessionId\":\"%s\",\"prompt\":[{\"type\":\"text\",\"text\":\"%s\"}]}",
		 a->session, script);
	return acp_ask(a, "session/prompt", params);
}

void acp_count_reset(struct acp *a)
{
	a->next = 1;
	a->got = a->lost = a->doubled = a->gaps = 0;
}

void acp_count_end(struct acp *a, uint64_t n)
{
	a->lost += n + 1 - a->next;
}
