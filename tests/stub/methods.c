/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's methods: one handler each, and the table that says what turns it on. */
#include "stub.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct peer peer;

const char *string_of(const cJSON *o, const char *name)
{
	return cJSON_GetStringValue(cJSON_GetObjectItem(o, name));
}

static void bad_params(const char *id, const char *what)
{
	reply_error(id, -32602, what, NULL);
}

static void no_session(const char *id, const char *session)
{
	struct buf b = { 0 };

	buf_str(&b, "{\"sessionId\":");
	buf_json(&b, session);
	buf_add(&b, "}", 2);
	reply_error(id, -32002, "Resource not found", b.p);
	buf_free(&b);
}

/* The session of a request, or an answer that says why not. */
static struct session *need_session(const char *id, const cJSON *params)
{
	const char *sid = string_of(params, "sessionId");
	struct session *s = sid ? session_find(sid) : NULL;

	if (!sid)
		bad_params(id, "sessionId is missing");
	else if (!s)
		no_session(id, sid);
	return s;
}

static void initialize_reply(const char *id)
{
	struct buf b = { 0 };
	const char *comma = "";

	buf_printf(&b, "{\"protocolVersion\":%d,\"agentCapabilities\":{\"loadSession\":%s,",
		   set.protocol, set.no_load ? "false" : "true");
	buf_printf(&b, "\"promptCapabilities\":{\"image\":%s,\"audio\":%s,\"embeddedContext\":%s},",
		   set.image ? "true" : "false", set.audio ? "true" : "false",
		   set.embedded ? "true" : "false");
	buf_printf(&b, "\"mcpCapabilities\":{\"http\":%s,\"sse\":%s},\"sessionCapabilities\":{",
		   set.mcp_http ? "true" : "false", set.mcp_sse ? "true" : "false");
	const struct {
		bool on;
		const char *name;
	} caps[] = { { !set.no_close, "close" }, { set.resume, "resume" },
		     { set.list, "list" },	 { set.del, "delete" },
		     { set.fork, "fork" },	 { set.dirs, "additionalDirectories" } };

	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		if (!caps[i].on)
			continue;
		buf_printf(&b, "%s\"%s\":{}", comma, caps[i].name);
		comma = ",";
	}
	buf_printf(&b, "}%s},\"authMethods\":[%s],", set.auth ? ",\"auth\":{\"logout\":{}}" : "",
		   set.auth ? "{\"id\":\"stub-login\",\"name\":\"Stub login\"}" : "");
	buf_str(&b,
		"\"agentInfo\":{\"name\":\"stub-agent\",\"title\":\"Stub agent\",\"version\":\"1\"}}");
	buf_add(&b, "", 1);
	reply_result(id, b.p);
	buf_free(&b);
}

static void on_initialize(const char *id, const cJSON *params)
{
	const cJSON *caps = cJSON_GetObjectItem(params, "clientCapabilities");
	const cJSON *session = cJSON_GetObjectItem(caps, "session");
	const cJSON *elicit = cJSON_GetObjectItem(caps, "elicitation");

	if (set.init_exit >= 0) {
		out_drain();
		_exit(set.init_exit);
	}
	if (set.init_silent)
		return;
	if (!cJSON_IsNumber(cJSON_GetObjectItem(params, "protocolVersion"))) {
		bad_params(id, "protocolVersion is missing");
		return;
	}
	peer.cfg_boolean = cJSON_IsObject(
		cJSON_GetObjectItem(cJSON_GetObjectItem(session, "configOptions"), "boolean"));
	peer.elicit_form = cJSON_IsObject(cJSON_GetObjectItem(elicit, "form"));
	free(peer.caps_json);
	peer.caps_json = cJSON_PrintUnformatted(caps);
	if (set.banner) {
		buf_str(&out, set.banner);
		out_line();
	}
	noise_at("initialize");
	initialize_reply(id);
	peer.initialized = true;
}

static void on_authenticate(const char *id, const cJSON *params)
{
	const char *method = string_of(params, "methodId");

	if (!method || strcmp(method, "stub-login") != 0) {
		bad_params(id, "Unknown authentication method");
		return;
	}
	peer.authenticated = true;
	reply_result(id, "{}");
}

static void on_logout(const char *id, const cJSON *params)
{
	(void)params;
	peer.authenticated = false;
	reply_result(id, "{}");
}

static void reply_state(const char *id, const struct session *s, bool with_id)
{
	struct buf b = { 0 };

	buf_str(&b, "{");
	if (with_id)
		buf_printf(&b, "\"sessionId\":\"%s\",", s->id);
	session_state_json(s, &b);
	buf_add(&b, "}", 2);
	reply_result(id, b.p);
	buf_free(&b);
}

static bool check_cwd(const char *id, const cJSON *params)
{
	const char *cwd = string_of(params, "cwd");

	if (cwd && cwd[0] == '/')
		return true;
	bad_params(id, "cwd must be an absolute path");
	return false;
}

static void on_new(const char *id, const cJSON *params)
{
	struct session *s;

	if (set.new_silent)
		return;
	if (set.new_error) {
		reply_error(id, set.new_error, "session/new fails as told", NULL);
		return;
	}
	if (!check_cwd(id, params))
		return;
	if (!cJSON_IsArray(cJSON_GetObjectItem(params, "mcpServers"))) {
		bad_params(id, "mcpServers is missing");
		return;
	}
	s = session_new(NULL, params);
	store_add(s, "new", s->params);
	if (set.early_update)
		session_announce(s);
	noise_at("new");
	reply_state(id, s, true);
	noise_at("idle");
	if (!set.early_update)
		session_announce(s);
}

static void reopen(const char *id, const cJSON *params, bool replay)
{
	const char *sid = string_of(params, "sessionId");
	struct session *s = sid ? session_find(sid) : NULL;
	bool fresh = !s;

	if (!sid || !check_cwd(id, params))
		return;
	if (fresh)
		s = session_new(sid, params);
	if (store_load(s, replay) < 0 && fresh) {
		no_session(id, sid);
		session_free(s);
		return;
	}
	if (!fresh) {
		free(s->params);
		s->params = cJSON_PrintUnformatted(params);
	}
	reply_state(id, s, false);
	session_announce(s);
}

static void on_load(const char *id, const cJSON *params)
{
	reopen(id, params, true);
}

static void on_resume(const char *id, const cJSON *params)
{
	reopen(id, params, false);
}

static void on_fork(const char *id, const cJSON *params)
{
	struct session *from = need_session(id, params);
	struct session *s;

	if (!from || !check_cwd(id, params))
		return;
	s = session_new(NULL, params);
	store_copy(from->id, s->id);
	if (store_load(s, false) < 0) {
		for (size_t i = 0; i < from->pasts; i++)
			session_remember(s, from->past[i]);
	}
	reply_state(id, s, true);
	session_announce(s);
}

static void on_list(const char *id, const cJSON *params)
{
	struct buf b = { 0 }, all = { 0 };

	store_list(&b, string_of(params, "cwd"));
	buf_str(&all, "{\"sessions\":[");
	if (b.len)
		buf_add(&all, b.p, b.len);
	buf_add(&all, "]}", 3);
	reply_result(id, all.p);
	buf_free(&b);
	buf_free(&all);
}

static void on_close(const char *id, const cJSON *params)
{
	const char *sid = string_of(params, "sessionId");
	struct session *s = sid ? session_find(sid) : NULL;

	if (s) {
		script_cancel(s, NULL);
		script_run(s);
		session_free(s);
	}
	reply_result(id, "{}");
}

static void on_delete(const char *id, const cJSON *params)
{
	const char *sid = string_of(params, "sessionId");

	if (sid)
		store_delete(sid);
	on_close(id, params);
}

static void on_set_mode(const char *id, const cJSON *params)
{
	struct session *s = need_session(id, params);
	const char *mode = string_of(params, "modeId");

	if (!s)
		return;
	if (!mode || session_set_mode(s, mode) < 0) {
		bad_params(id, "Unknown mode");
		return;
	}
	reply_result(id, "{}");
	emit_config(s);
}

static void on_set_option(const char *id, const cJSON *params)
{
	struct session *s = need_session(id, params);
	const char *option = string_of(params, "configId");
	struct buf b = { 0 };

	if (!s)
		return;
	if (!option || session_set_option(s, option, cJSON_GetObjectItem(params, "value")) < 0) {
		bad_params(id, "Unknown config option or value");
		return;
	}
	buf_str(&b, "{\"configOptions\":");
	session_config_json(s, &b);
	buf_add(&b, "}", 2);
	reply_result(id, b.p);
	buf_free(&b);
	if (strcmp(option, "mode") == 0)
		emit_mode(s);
}

static bool block_allowed(const char *type)
{
	if (!type)
		return false;
	if (strcmp(type, "image") == 0)
		return set.image;
	if (strcmp(type, "audio") == 0)
		return set.audio;
	if (strcmp(type, "resource") == 0)
		return set.embedded;
	return strcmp(type, "text") == 0 || strcmp(type, "resource_link") == 0;
}

static void on_prompt(const char *id, const cJSON *params)
{
	const cJSON *blocks = cJSON_GetObjectItem(params, "prompt"), *block;
	struct session *s = need_session(id, params);
	const char *text = NULL;
	struct buf kinds = { 0 };
	struct prompt *p;

	if (!s)
		return;
	cJSON_ArrayForEach(block, blocks)
	{
		const char *type = string_of(block, "type");

		if (!block_allowed(type)) {
			bad_params(id, "Unsupported content block");
			buf_free(&kinds);
			return;
		}
		if (!text && strcmp(type, "text") == 0)
			text = string_of(block, "text");
		buf_printf(&kinds, "%s%s", kinds.len ? "," : "", type);
	}
	if (!kinds.len) {
		bad_params(id, "The prompt is empty");
		return;
	}
	buf_add(&kinds, "", 1);
	p = xcalloc(1, sizeof(*p));
	p->id = xstrdup(id);
	p->text = xstrdup(text ? text : "");
	p->kinds = kinds.p;
	p->content = cJSON_PrintUnformatted(blocks);
	p->meta = cJSON_PrintUnformatted(cJSON_GetObjectItem(params, "_meta"));
	script_queue(s, p);
}

static const struct method methods[] = {
	{ "initialize", on_initialize, NULL, false, true, true },
	{ "authenticate", on_authenticate, &set.auth, false, true, false },
	{ "logout", on_logout, &set.auth, false, true, false },
	{ "session/new", on_new, NULL, false, false, false },
	{ "session/load", on_load, &set.no_load, true, false, false },
	{ "session/resume", on_resume, &set.resume, false, false, false },
	{ "session/fork", on_fork, &set.fork, false, false, false },
	{ "session/list", on_list, &set.list, false, false, false },
	{ "session/close", on_close, &set.no_close, true, true, false },
	{ "session/delete", on_delete, &set.del, false, true, false },
	{ "session/set_mode", on_set_mode, NULL, false, true, false },
	{ "session/set_config_option", on_set_option, NULL, false, true, false },
	{ "session/prompt", on_prompt, NULL, false, false, false },
	{ NULL, NULL, NULL, false, false, false },
};

const struct method *method_find(const char *name)
{
	const struct method *m = methods;

	while (m->name && strcmp(m->name, name) != 0)
		m++;
	return m->name && (!m->need || *m->need != m->inverted) ? m : NULL;
}
