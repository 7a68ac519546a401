/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: modes, config options, and the updates that tell about them. */
#include "stub.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

struct session *sessions;

static const char *const modes[][2] = { { "ask", "Ask" }, { "code", "Code" } };
static const char *const models[][2] = { { "stub-small", "Stub Small" },
					 { "stub-large", "Stub Large" } };

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct session *session_find(const char *id)
{
	struct session *s = sessions;

	while (s && strcmp(s->id, id) != 0)
		s = s->next;
	return s;
}

static char *new_id(void)
{
	unsigned char r[8];
	char id[32];

	if (getrandom(r, sizeof(r), 0) != (ssize_t)sizeof(r))
		abort();
	snprintf(id, sizeof(id), "stub_%02x%02x%02x%02x%02x%02x%02x%02x", r[0], r[1], r[2], r[3],
		 r[4], r[5], r[6], r[7]);
	return xstrdup(id);
}

struct session *session_new(const char *id, const cJSON *params)
{
	struct session *s = xcalloc(1, sizeof(*s));
	const char *cwd = cJSON_GetStringValue(cJSON_GetObjectItem(params, "cwd"));

	s->id = id ? xstrdup(id) : new_id();
	s->cwd = xstrdup(cwd ? cwd : "/");
	s->params = cJSON_PrintUnformatted(params);
	strcpy(s->mode, modes[0][0]);
	strcpy(s->model, models[0][0]);
	s->next = sessions;
	sessions = s;
	return s;
}

void prompt_free(struct prompt *p)
{
	for (size_t i = 0; i < p->steps; i++)
		free(p->step[i]);
	free(p->step);
	free(p->id);
	free(p->text);
	free(p->meta);
	free(p->kinds);
	free(p->content);
	free(p->ask_tool);
	for (size_t i = 0; i < p->nperms; i++)
		free(p->perms[i]);
	free(p->perms);
	free(p->error_text);
	free(p->stop);
	free(p->usage);
	free(p->flood.block);
	free(p);
}

void session_free(struct session *s)
{
	struct session **at = &sessions;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	while (s->head) {
		struct prompt *p = s->head;

		s->head = p->next;
		prompt_free(p);
	}
	for (size_t i = 0; i < s->pasts; i++)
		free(s->past[i]);
	free(s->past);
	free(s->id);
	free(s->cwd);
	free(s->params);
	free(s);
}

void session_remember(struct session *s, const char *text)
{
	if (strncmp(text, "RECALL", 6) == 0)
		return; /* asking is not part of what is recalled */
	s->past = realloc(s->past, (s->pasts + 1) * sizeof(*s->past));
	if (!s->past)
		abort();
	s->past[s->pasts++] = xstrdup(text);
}

static void select_json(struct buf *b, const char *id, const char *name, const char *current,
			const char *const rows[][2], size_t n)
{
	buf_printf(b,
		   "{\"id\":\"%s\",\"name\":\"%s\",\"category\":\"%s\",\"type\":\"select\","
		   "\"currentValue\":\"%s\",\"options\":[",
		   id, name, id, current);
	for (size_t i = 0; i < n; i++)
		buf_printf(b, "%s{\"value\":\"%s\",\"name\":\"%s\"}", i ? "," : "", rows[i][0],
			   rows[i][1]);
	buf_str(b, "]}");
}

void session_config_json(const struct session *s, struct buf *b)
{
	buf_str(b, "[");
	select_json(b, "model", "Model", s->model, models, COUNT(models));
	buf_str(b, ",");
	select_json(b, "mode", "Mode", s->mode, modes, COUNT(modes));
	if (peer.cfg_boolean)
		buf_printf(b,
			   ",{\"id\":\"web\",\"name\":\"Web search\",\"category\":\"model_config\","
			   "\"type\":\"boolean\",\"currentValue\":%s}",
			   s->web ? "true" : "false");
	buf_str(b, "]");
}

void session_state_json(const struct session *s, struct buf *b)
{
	if (!set.option_modes) {
		buf_printf(b, "\"modes\":{\"currentModeId\":\"%s\",\"availableModes\":[", s->mode);
		for (size_t i = 0; i < COUNT(modes); i++)
			buf_printf(b, "%s{\"id\":\"%s\",\"name\":\"%s\"}", i ? "," : "",
				   modes[i][0], modes[i][1]);
		buf_str(b, "]},");
	}
	buf_str(b, "\"configOptions\":");
	session_config_json(s, b);
}

static int set_from(char *slot, const char *value, const char *const rows[][2], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(rows[i][0], value) == 0) {
			strcpy(slot, value);
			return 0;
		}
	}
	return -EINVAL;
}

int session_set_mode(struct session *s, const char *mode)
{
	return set_from(s->mode, mode, modes, COUNT(modes));
}

int session_set_option(struct session *s, const char *id, const cJSON *value)
{
	if (strcmp(id, "web") == 0 && peer.cfg_boolean && cJSON_IsBool(value)) {
		s->web = cJSON_IsTrue(value);
		return 0;
	}
	if (!cJSON_IsString(value))
		return -EINVAL;
	if (strcmp(id, "model") == 0)
		return set_from(s->model, value->valuestring, models, COUNT(models));
	if (strcmp(id, "mode") == 0)
		return session_set_mode(s, value->valuestring);
	return -EINVAL;
}

/* keep: the update belongs to the conversation and is replayed by session/load. */
void emit(struct session *s, bool keep, const char *update_json)
{
	buf_str(&out,
		"{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":");
	buf_json(&out, s->id);
	buf_str(&out, ",\"update\":");
	buf_str(&out, update_json);
	buf_str(&out, "}}");
	out_line();
	if (keep)
		store_add(s, "upd", update_json);
}

static void emit_buf(struct session *s, bool keep, struct buf *b)
{
	buf_add(b, "", 1);
	emit(s, keep, b->p);
	buf_free(b);
}

void emit_text(struct session *s, const char *text)
{
	struct buf b = { 0 };

	buf_printf(&b, "{\"sessionUpdate\":\"agent_message_chunk\",\"messageId\":\"%s-%lld\",",
		   s->id, (long long)s->turns);
	buf_str(&b, "\"content\":{\"type\":\"text\",\"text\":");
	buf_json(&b, text);
	buf_str(&b, "}}");
	emit_buf(s, true, &b);
}

void emit_mode(struct session *s)
{
	struct buf b = { 0 };

	if (set.option_modes)
		return;
	buf_printf(&b, "{\"sessionUpdate\":\"current_mode_update\",\"currentModeId\":\"%s\"}",
		   s->mode);
	emit_buf(s, false, &b);
}

void emit_config(struct session *s)
{
	struct buf b = { 0 };

	buf_str(&b, "{\"sessionUpdate\":\"config_option_update\",\"configOptions\":");
	session_config_json(s, &b);
	buf_str(&b, "}");
	emit_buf(s, false, &b);
}

void emit_usage(struct session *s)
{
	struct buf b = { 0 };

	buf_printf(&b,
		   "{\"sessionUpdate\":\"usage_update\",\"used\":%lld,\"size\":200000,"
		   "\"cost\":{\"amount\":%lld.%02lld,\"currency\":\"USD\"}}",
		   (long long)s->used, (long long)(s->used / 10000),
		   (long long)(s->used / 100 % 100));
	emit_buf(s, false, &b);
}

void session_announce(struct session *s)
{
	emit(s, false,
	     "{\"sessionUpdate\":\"available_commands_update\",\"availableCommands\":["
	     "{\"name\":\"compact\",\"description\":\"Compact the context\","
	     "\"input\":{\"hint\":\"what to keep\"}},"
	     "{\"name\":\"review\",\"description\":\"Review the changes\"}]}");
	emit_usage(s);
}
