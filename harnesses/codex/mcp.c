/* mcp.c - ACP's McpServer[] as Codex's mcp_servers table. */
#include "harnesses/codex/internal.h"

#include <stdio.h>

#define MCP_NAME_MAX 64

/* Codex refuses a server whose name has other characters. */
static void put_name(char *ret, size_t n, struct jval name, unsigned index)
{
	_cleanup_(freep) char *text = NULL;

	if (jstr_decode(name, 4096, &text) < 0 || !*text) {
		snprintf(ret, n, "server-%u", index);
		return;
	}
	snprintf(ret, n, "%s", text);
	for (char *p = ret; *p; p++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", *p))
			*p = '_';
}

/* [{name, value}] as an object. */
static void put_pairs(struct jw *w, const char *key, struct jval list)
{
	struct jiter it;
	struct jval v;

	if (list.type != J_ARRAY || !jiter_init(&it, list))
		return;
	jw_obj(w, key);
	while (jiter_next(&it, NULL, &v)) {
		_cleanup_(freep) char *name = codex_str(v.raw, "name");
		struct jval value = jobj_get(v.raw, "value");

		if (!name || value.type != J_STRING)
			continue;
		jw_lead_key(w, name);
		jw_raw(w, NULL, value.raw);
	}
	jw_end_obj(w);
}

static void put_server(struct jw *w, struct slice server, int64_t call_ms)
{
	struct jval url = jobj_get(server, "url");

	if (url.type == J_STRING) {
		jw_raw(w, "url", url.raw);
		put_pairs(w, "http_headers", jobj_get(server, "headers"));
	} else {
		jw_raw(w, "command", jobj_get(server, "command").raw);
		jw_raw(w, "args", jobj_get(server, "args").raw);
		put_pairs(w, "env", jobj_get(server, "env"));
	}
	/* after Codex's own 10 s the model is called without the tools of a server that starts slowly */
	jw_int(w, "startup_timeout_sec", HARNESS_START_SECS);
	/* progress does not make it wait any longer */
	if (call_ms)
		jw_int(w, "tool_timeout_sec", (call_ms + 999) / 1000);
	/* every call is asked, read-only ones too; under approval never and full access Codex asks
	 * for none */
	jw_str(w, "default_tools_approval_mode", "prompt");
}

void codex_mcp_put(struct jw *w, const char *key, struct slice servers, int64_t call_ms)
{
	char name[MCP_NAME_MAX + 1];
	unsigned n = 0;
	struct jiter it;
	struct jval v;

	jw_obj(w, key);
	if (servers.n && jiter_init(&it, (struct jval){ J_ARRAY, servers })) {
		while (jiter_next(&it, NULL, &v)) {
			put_name(name, sizeof(name), jobj_get(v.raw, "name"), n++);
			jw_lead_key(w, name);
			jw_obj(w, NULL);
			put_server(w, v.raw, call_ms);
			jw_end_obj(w);
		}
	}
	jw_end_obj(w);
}
