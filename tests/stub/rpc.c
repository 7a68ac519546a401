/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC: parses what comes in, gates it, sends it to its handler; and asks the client. */
#include "stub.h"

#include <stdlib.h>
#include <string.h>

struct delayed {
	struct delayed *next;
	int64_t at;
	char *line;
	size_t len;
};

static struct delayed *delayed;
static bool in_delayed;

static void on_request(const char *method, const char *id, const cJSON *params)
{
	const struct method *m = method_find(method);

	if (!m)
		reply_error(id, -32601, "Method not found", NULL);
	else if (!peer.initialized && !m->first)
		reply_error(id, -32600, "Not initialized", NULL);
	else if (set.auth && !peer.authenticated && !m->open)
		reply_error(id, -32000, "Authentication required", NULL);
	else
		m->run(id, params);
}

static void on_notification(const char *method, const cJSON *params)
{
	const char *sid = string_of(params, "sessionId");
	struct session *s = sid ? session_find(sid) : NULL;
	char *id;

	if (strcmp(method, "session/cancel") == 0 && s)
		script_cancel(s, NULL);
	if (strcmp(method, "$/cancel_request") != 0)
		return;
	id = cJSON_PrintUnformatted(cJSON_GetObjectItem(params, "requestId"));
	for (s = sessions; id && s; s = s->next)
		script_cancel(s, id);
	free(id);
}

/* Puts the message aside if a flag delays its answer. */
static bool put_aside(const char *method, const char *line, size_t len)
{
	int ms = strcmp(method, "initialize") == 0  ? set.init_delay :
		 strcmp(method, "session/new") == 0 ? set.new_delay :
						      0;
	struct delayed *d;

	if (!ms || in_delayed)
		return false;
	d = xcalloc(1, sizeof(*d));
	d->at = now_ms() + ms;
	d->line = xcalloc(1, len + 1);
	memcpy(d->line, line, len);
	d->len = len;
	d->next = delayed;
	delayed = d;
	return true;
}

int64_t rpc_next_deadline(void)
{
	int64_t at = -1;

	for (struct delayed *d = delayed; d; d = d->next)
		at = at < 0 || d->at < at ? d->at : at;
	return at;
}

void rpc_tick(void)
{
	struct delayed **at = &delayed, *d;

	while ((d = *at)) {
		if (d->at > now_ms()) {
			at = &d->next;
			continue;
		}
		*at = d->next;
		in_delayed = true;
		rpc_message(d->line, d->len);
		in_delayed = false;
		free(d->line);
		free(d);
	}
}

void rpc_message(char *line, size_t len)
{
	cJSON *msg = cJSON_ParseWithLength(line, len);
	const cJSON *id = cJSON_GetObjectItem(msg, "id");
	const cJSON *params = cJSON_GetObjectItem(msg, "params");
	const char *method = string_of(msg, "method");
	char *id_json = id ? cJSON_PrintUnformatted(id) : NULL;

	if (!msg)
		reply_error("null", -32700, "Parse error", NULL);
	else if (method && put_aside(method, line, len))
		;
	else if (method && id_json)
		on_request(method, id_json, params);
	else if (method)
		on_notification(method, params);
	else if (cJSON_IsNumber(id))
		script_reply((int64_t)id->valuedouble, msg);
	free(id_json);
	cJSON_Delete(msg);
}

int64_t rpc_ask(const char *method, const char *params_json)
{
	static int64_t next; /* from 0, as real agents do */

	buf_printf(&out, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"method\":", (long long)next);
	buf_json(&out, method);
	buf_str(&out, ",\"params\":");
	buf_str(&out, params_json);
	buf_str(&out, "}");
	out_line();
	return next++;
}

void rpc_withdraw(int64_t id)
{
	buf_printf(
		&out,
		"{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":{\"requestId\":%lld}}",
		(long long)id);
	out_line();
}
