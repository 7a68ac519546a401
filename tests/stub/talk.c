/* SPDX-License-Identifier: Apache-2.0 */
/* Directives of a well-behaved agent: text, tools, plans, permissions, modes, the turn's end. */
#include "stub.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HOLD_LOOK_MS 20

static void emit_free(struct session *s, struct buf *b)
{
	buf_add(b, "", 1);
	emit(s, true, b->p);
	buf_free(b);
}

static void do_echo(struct session *s, struct prompt *p, char *arg)
{
	(void)p;
	emit_text(s, unescape(arg));
}

static void do_think(struct session *s, struct prompt *p, char *arg)
{
	struct buf b = { 0 };

	(void)p;
	buf_str(&b,
		"{\"sessionUpdate\":\"agent_thought_chunk\",\"content\":{\"type\":\"text\",\"text\":");
	buf_json(&b, unescape(arg));
	buf_str(&b, "}}");
	emit_free(s, &b);
}

void tool_open(struct session *s, const char *id, const char *kind, const char *title)
{
	struct buf b = { 0 };

	buf_str(&b, "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":");
	buf_json(&b, id);
	buf_str(&b, ",\"title\":");
	buf_json(&b, title);
	buf_str(&b, ",\"kind\":");
	buf_json(&b, kind);
	buf_str(&b, ",\"status\":\"pending\",\"rawInput\":{\"command\":");
	buf_json(&b, title);
	buf_str(&b, "}}");
	emit_free(s, &b);
}

void tool_status(struct session *s, const char *id, const char *status)
{
	struct buf b = { 0 };

	buf_str(&b, "{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":");
	buf_json(&b, id);
	buf_printf(&b, ",\"status\":\"%s\"}", status);
	emit_free(s, &b);
}

static void do_tool(struct session *s, struct prompt *p, char *arg)
{
	const char *id = next_word(&arg), *kind = next_word(&arg), *title = arg;
	struct buf b = { 0 };

	(void)p;
	tool_open(s, id, *kind ? kind : "other", *title ? title : "A tool");
	tool_status(s, id, "in_progress");
	buf_str(&b, "{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":");
	buf_json(&b, id);
	buf_str(&b, ",\"status\":\"completed\",\"content\":[{\"type\":\"content\",\"content\":"
		    "{\"type\":\"text\",\"text\":\"tool output\"}}],\"locations\":[{\"path\":\"");
	buf_printf(&b, "%s/a.c\",\"line\":3}],\"rawOutput\":{\"exit\":0}}", s->cwd);
	emit_free(s, &b);
}

static void do_toolopen(struct session *s, struct prompt *p, char *arg)
{
	(void)p;
	tool_open(s, next_word(&arg), "execute", "A tool that stays open");
}

static void do_toolorphan(struct session *s, struct prompt *p, char *arg)
{
	(void)p;
	tool_status(s, next_word(&arg), "completed");
}

static void do_write(struct session *s, struct prompt *p, char *arg)
{
	const char *name = next_word(&arg), *text = unescape(arg);
	char path[4400];
	struct buf b = { 0 };
	int fd;

	snprintf(path, sizeof(path), "%s%s%s", name[0] == '/' ? "" : s->cwd,
		 name[0] == '/' ? "" : "/", name);
	tool_open(s, "write", "edit", name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
		tool_status(s, "write", "failed");
		p->error = -32603;
		p->error_text = xstrdup("write failed");
	}
	if (fd >= 0)
		close(fd);
	if (p->error)
		return;
	buf_str(&b, "{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"write\",\"status\":"
		    "\"completed\",\"content\":[{\"type\":\"diff\",\"path\":");
	buf_json(&b, path);
	buf_str(&b, ",\"oldText\":null,\"newText\":");
	buf_json(&b, text);
	buf_str(&b, "}]}");
	emit_free(s, &b);
}

static void do_elicit(struct session *s, struct prompt *p, char *arg)
{
	struct buf b = { 0 };

	(void)arg;
	if (!peer.elicit_form && !set.elicit_always) {
		say(s, "elicit:unavailable");
		return;
	}
	buf_printf(&b, "{\"sessionId\":\"%s\",\"mode\":\"form\",\"message\":\"Which branch?\",",
		   s->id);
	buf_str(&b,
		"\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"branch\":"
		"{\"type\":\"string\",\"enum\":[\"main\",\"dev\"]}},\"required\":[\"branch\"]}}");
	buf_add(&b, "", 1);
	ask(p, ASK_ELICIT, "elicitation/create", b.p);
	buf_free(&b);
}

static void do_fs(struct session *s, struct prompt *p, char *arg)
{
	const char *path = next_word(&arg);
	struct buf b = { 0 };

	buf_printf(&b, "{\"sessionId\":\"%s\",\"path\":", s->id);
	buf_json(&b, *path ? path : "/etc/hostname");
	buf_add(&b, "}", 2);
	ask(p, ASK_FS, "fs/read_text_file", b.p);
	buf_free(&b);
}

static void do_ask(struct session *s, struct prompt *p, char *arg)
{
	const char *method = next_word(&arg);
	cJSON *params = cJSON_Parse(*arg ? arg : "{}");
	char *text;

	if (!cJSON_IsObject(params)) {
		say(s, "ask:bad params");
		cJSON_Delete(params);
		return;
	}
	if (!cJSON_GetObjectItem(params, "sessionId"))
		cJSON_AddStringToObject(params, "sessionId", s->id);
	text = cJSON_PrintUnformatted(params);
	ask(p, ASK_RAW, method, text);
	free(text);
	cJSON_Delete(params);
}

static void do_plan(struct session *s, struct prompt *p, char *arg)
{
	(void)p;
	(void)arg;
	emit(s, true,
	     "{\"sessionUpdate\":\"plan\",\"entries\":["
	     "{\"content\":\"Read the code\",\"priority\":\"high\",\"status\":\"completed\"},"
	     "{\"content\":\"Change it\",\"priority\":\"medium\",\"status\":\"in_progress\"},"
	     "{\"content\":\"Run the tests\",\"priority\":\"low\",\"status\":\"pending\"}]}");
}

static void do_usage(struct session *s, struct prompt *p, char *arg)
{
	(void)p;
	(void)arg;
	emit_usage(s);
}

static void do_mode(struct session *s, struct prompt *p, char *arg)
{
	(void)p;
	if (session_set_mode(s, next_word(&arg)) < 0) {
		say(s, "mode:unknown");
		return;
	}
	emit_mode(s);
	emit_config(s);
}

static void do_title(struct session *s, struct prompt *p, char *arg)
{
	time_t now = time(NULL);
	struct buf b = { 0 };
	char iso[32];

	(void)p;
	strftime(iso, sizeof(iso), "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
	buf_str(&b, "{\"sessionUpdate\":\"session_info_update\",\"title\":");
	buf_json(&b, unescape(arg));
	buf_printf(&b, ",\"updatedAt\":\"%s\"}", iso);
	emit_free(s, &b);
}

static void do_image(struct session *s, struct prompt *p, char *arg)
{
	(void)p;
	(void)arg;
	emit(s, true,
	     "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"image\","
	     "\"mimeType\":\"image/gif\",\"data\":"
	     "\"R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7\"}}");
}

static void do_sleep(struct session *s, struct prompt *p, char *arg)
{
	(void)s;
	p->deadline = now_ms() + atoll(next_word(&arg));
	p->fixed_cancel = strcmp(next_word(&arg), "nocancel") == 0;
	p->wait = WAIT_TIME;
}

/* Until the file is there. */
static void do_hold(struct session *s, struct prompt *p, char *arg)
{
	(void)s;
	if (access(arg, F_OK) == 0)
		return;
	p->deadline = now_ms() + HOLD_LOOK_MS;
	p->wait = WAIT_TIME;
	p->at--; /* this step again */
}

static void do_nocancel(struct session *s, struct prompt *p, char *arg)
{
	(void)s;
	(void)arg;
	p->nocancel = true;
}

static void do_stop(struct session *s, struct prompt *p, char *arg)
{
	(void)s;
	free(p->stop);
	p->stop = xstrdup(next_word(&arg));
	p->at = p->steps;
}

static void do_error(struct session *s, struct prompt *p, char *arg)
{
	const char *code = next_word(&arg);

	(void)s;
	p->error = atoi(code) ? atoi(code) : -32603;
	free(p->error_text);
	p->error_text = xstrdup(*arg ? unescape(arg) : "The stub was told to fail");
	p->at = p->steps;
}

static void do_recall(struct session *s, struct prompt *p, char *arg)
{
	struct buf b = { 0 };

	(void)p;
	(void)arg;
	buf_str(&b, "[");
	for (size_t i = 0; i < s->pasts; i++) {
		buf_str(&b, i ? "," : "");
		buf_json(&b, s->past[i]);
	}
	buf_add(&b, "]", 2);
	emit_text(s, b.p);
	buf_free(&b);
}

static void do_tokens(struct session *s, struct prompt *p, char *arg)
{
	(void)s;
	free(p->usage);
	p->usage = xstrdup(arg);
}

const struct directive talk_directives[] = {
	{ "echo", true, do_echo },
	{ "think", true, do_think },
	{ "tool", true, do_tool },
	{ "toolopen", true, do_toolopen },
	{ "toolorphan", true, do_toolorphan },
	{ "write", true, do_write },
	{ "elicit", false, do_elicit },
	{ "fs", true, do_fs },
	{ "ask", true, do_ask },
	{ "plan", false, do_plan },
	{ "usage", false, do_usage },
	{ "tokens", true, do_tokens },
	{ "mode", true, do_mode },
	{ "title", true, do_title },
	{ "image", false, do_image },
	{ "sleep", true, do_sleep },
	{ "hold", true, do_hold },
	{ "nocancel", false, do_nocancel },
	{ "stop", true, do_stop },
	{ "error", true, do_error },
	{ "RECALL", false, do_recall },
	{ NULL, false, NULL },
};
