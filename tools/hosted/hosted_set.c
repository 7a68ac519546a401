/*
 * hosted_set.c - the servers of one configuration file, with their secrets and their problems.
 *
 * A server borrows its entry, its refusal and the secrets from the set. The mark of a server
 * consists of serial and name and must be unique in the daemon: the sweep after its end kills by
 * mark. Header values and variables are registered as secrets before a server can log anything.
 */
#include "tools/hosted/hosted_set.h"

#include "base/limits.h"
#include "base/log.h"
#include "json/jenc.h"

#include <stdio.h>

/* Header values are secrets, and so are the values of variables with such names. */
static void load_secrets(struct hosted_set *set, char *const *env)
{
	_cleanup_(buf_done) struct buf headers = { 0 }, vars = { 0 };
	struct jw h = JW(&headers), v = JW(&vars);

	jw_obj(&h, NULL);
	jw_obj(&h, "headers");
	jw_obj(&v, NULL);
	for (char *const *e = env; e && *e; e++) {
		_cleanup_(freep) char *name = xstrndup(*e, strcspn(*e, "="));

		jw_lead_key(&v, name);
		jw_str(&v, NULL, strchr(*e, '=') ? strchr(*e, '=') + 1 : "");
	}
	for (size_t i = 0; i < set->file.n; i++) {
		const struct mcpfile_entry *e = &set->file.entries[i];

		for (size_t k = 0; k < e->env.n; k++) {
			jw_lead_key(&v, e->env.at[k].name);
			jw_str(&v, NULL, e->env.at[k].value);
		}
		for (size_t k = 0; k < e->headers.n; k++) {
			jw_lead_key(&h, e->headers.at[k].name);
			jw_str(&h, NULL, e->headers.at[k].value);
		}
	}
	jw_end_obj(&h);
	jw_end_obj(&h);
	jw_end_obj(&v);
	secrets_load(&set->secrets, &(struct secrets_given){ .provider = buf_slice(&headers),
							     .env = buf_slice(&vars) });
}

static void log_issues(const struct hosted_set *set)
{
	for (size_t i = 0; i < set->file.nissues; i++) {
		const struct mcpfile_issue *is = &set->file.issues[i];

		log_write(is->warning ? LOG_INFO : LOG_WARN, "mcp", "configuration", "file",
			  set->path, "server", is->entry ? is->entry : "", "field", is->why.field,
			  "reason", is->why.reason, "text", is->why.msg, NULL);
	}
}

struct hosted_set *hosted_set_new(const struct hosted_server_config *servers,
				  const struct mcpfile_source *source, unsigned serial)
{
	struct hosted_set *set = new0(struct hosted_set);

	list_init(&set->link);
	set->path = xstrdup(source->path);
	set->session = xstrdup(servers->session);
	if (source->path)
		mcpfile_read(&set->file, source, servers->env);
	load_secrets(set, servers->env);
	log_issues(set);
	set->servers = xalloc(set->file.n * sizeof(*set->servers));
	for (size_t i = 0; i < set->file.n; i++) {
		struct hosted_server_config c = *servers;
		char mark[HOSTED_NAME_MAX + 32];

		snprintf(mark, sizeof(mark), "mcp-%u-%s", serial, set->file.entries[i].name);
		c.entry = &set->file.entries[i];
		c.refusal = mcpfile_error(&set->file, c.entry->name);
		c.secrets = &set->secrets;
		c.mark = mark;
		set->servers[i] = hosted_server_new(&c);
	}
	return set;
}

void hosted_set_delete(struct hosted_set *set)
{
	list_del(&set->link);
	for (size_t i = 0; i < set->file.n; i++)
		hosted_server_free(set->servers[i]);
	free(set->servers);
	/* After the servers, which borrow the secrets and their entries. */
	secrets_done(&set->secrets);
	mcpfile_done(&set->file);
	free(set->path);
	free(set->session);
	free(set);
}

void hosted_set_stop(struct hosted_set *set, void (*down)(void *ctx), void *ctx)
{
	for (size_t i = 0; i < set->file.n; i++)
		hosted_server_stop(set->servers[i], down, ctx);
}

void hosted_set_kill(struct hosted_set *set)
{
	for (size_t i = 0; i < set->file.n; i++)
		hosted_server_kill(set->servers[i]);
}

bool hosted_set_down(const struct hosted_set *set)
{
	for (size_t i = 0; i < set->file.n; i++)
		if (!hosted_server_down(set->servers[i]))
			return false;
	return true;
}

void hosted_set_put_servers(const struct hosted_set *set, struct jw *w)
{
	for (size_t i = 0; i < set->file.n; i++)
		hosted_server_put(set->servers[i], w);
}

void hosted_set_put_problems(const struct hosted_set *set, struct jw *w)
{
	for (size_t i = 0; i < set->file.nissues; i++) {
		const struct mcpfile_issue *is = &set->file.issues[i];

		jw_obj(w, NULL);
		jw_str(w, "severity", is->warning ? "warning" : "error");
		jw_str(w, "sessionId", set->session);
		jw_str(w, "server", is->entry);
		if (is->why.field[0])
			jw_str(w, "field", is->why.field);
		jw_str(w, "reason", is->why.reason);
		jw_str(w, "message", is->why.msg);
		jw_end_obj(w);
	}
}

void hosted_set_count(const struct hosted_set *set, struct hosted_totals *totals)
{
	for (size_t i = 0; i < set->file.n; i++) {
		enum hosted_state state = hosted_server_state(set->servers[i]);

		totals->servers++;
		totals->ready += state == HOSTED_READY;
		totals->failed += state == HOSTED_FAILED;
		totals->restarts += hosted_server_restarts(set->servers[i]);
	}
}
