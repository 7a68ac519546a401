/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Permission requests: "perm ID" one, "perms N" so many at once, "twice" how many requests of any kind have been answered
 * more than once in the life of this process.
 */
#include "stub.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char *answers; /* by id of the request: how often it was answered */
static size_t nanswers, twice;

void perms_note(int64_t id)
{
	size_t i = (size_t)id;

	if (id < 0 || id > 1000000)
		return;
	if (i >= nanswers) {
		answers = realloc(answers, 2 * i + 64);
		if (!answers)
			abort();
		memset(answers + nanswers, 0, 2 * i + 64 - nanswers);
		nanswers = 2 * i + 64;
	}
	twice += answers[i] == 1;
	answers[i] += answers[i] < 2;
}

static int64_t ask_permission(struct session *s, const char *id)
{
	struct buf b = { 0 };
	int64_t asked;

	tool_open(s, id, "execute", "Run a command");
	buf_printf(&b, "{\"sessionId\":\"%s\",\"toolCall\":{\"toolCallId\":", s->id);
	buf_json(&b, id);
	buf_str(&b, ",\"title\":\"Run a command\",\"kind\":\"execute\",\"status\":\"pending\","
		    "\"rawInput\":{\"command\":\"true\"}},\"options\":["
		    "{\"optionId\":\"allow\",\"name\":\"Allow once\",\"kind\":\"allow_once\"},"
		    "{\"optionId\":\"always\",\"name\":\"Always allow\",\"kind\":\"allow_always\"},"
		    "{\"optionId\":\"reject\",\"name\":\"Reject\",\"kind\":\"reject_once\"}]}");
	buf_add(&b, "", 1);
	asked = rpc_ask("session/request_permission", b.p);
	buf_free(&b);
	return asked;
}

static void do_perm(struct session *s, struct prompt *p, char *arg)
{
	free(p->ask_tool);
	p->ask_tool = xstrdup(next_word(&arg));
	p->ask_id = ask_permission(s, p->ask_tool);
	p->ask = ASK_PERM;
	p->wait = WAIT_REPLY;
}

static void do_perms(struct session *s, struct prompt *p, char *arg)
{
	int n = atoi(next_word(&arg));
	char id[32];

	for (size_t i = 0; i < p->nperms; i++)
		free(p->perms[i]);
	free(p->perms);
	p->nperms = n > 0 && n <= 1000 ? (size_t)n : 1;
	p->perms = xcalloc(p->nperms, sizeof(*p->perms));
	for (size_t i = 0; i < p->nperms; i++) {
		int64_t asked;

		snprintf(id, sizeof(id), "%lld-%zu", (long long)s->turns, i);
		asked = ask_permission(s, id);
		p->ask_id = i ? p->ask_id : asked; /* the others follow it */
	}
	p->ask = ASK_PERMS;
	p->wait = WAIT_REPLY;
}

static void tell(struct session *s, struct prompt *p)
{
	struct buf b = { 0 };

	for (size_t i = 0; i < p->nperms; i++) {
		buf_str(&b, i ? "," : "perms:");
		buf_str(&b, p->perms[i]);
	}
	buf_add(&b, "", 1);
	emit_text(s, b.p);
	buf_free(&b);
	p->wait = WAIT_NONE;
}

bool perms_reply(struct session *s, struct prompt *p, int64_t id, const cJSON *result)
{
	const cJSON *outcome = cJSON_GetObjectItem(result, "outcome");
	const char *what = string_of(outcome, "outcome"), *option = string_of(outcome, "optionId");
	size_t i = (size_t)(id - p->ask_id);

	if (id < p->ask_id || i >= p->nperms)
		return false;
	if (p->perms[i])
		return true; /* perms_note has seen it */
	p->perms[i] = xstrdup(option ? option : what ? what : "?");
	for (i = 0; i < p->nperms; i++)
		if (!p->perms[i])
			return true;
	tell(s, p);
	return true;
}

void perms_withdraw(const struct prompt *p)
{
	for (size_t i = 0; i < p->nperms; i++)
		if (!p->perms[i])
			rpc_withdraw(p->ask_id + (int64_t)i);
}

static void do_twice(struct session *s, struct prompt *p, char *arg)
{
	(void)p;
	(void)arg;
	say(s, "twice:%zu", twice);
}

const struct directive perms_directives[] = {
	{ "perm", true, do_perm },
	{ "perms", true, do_perms },
	{ "twice", false, do_twice },
	{ NULL, false, NULL },
};
