/*
 * hosted.c - all hosted MCP servers: the set of the daemon, and one set for each session with a
 * project file.
 *
 * A session releases its set while processes still run. The set then waits in `leaving`, and
 * hosted_settle() frees it when it is down. hosted_settle() is a deferred task, because a callback
 * of a server must not free that server. hosted_stop is complete when every set is down and none is
 * leaving. Restarts of freed sets stay in the total.
 *
 * A server borrows its entry, its refusal and the secrets from its set. The mark of a server
 * consists of serial and name and must be unique in the daemon: the sweep after its end kills by
 * mark. Header values and variables are registered as secrets before a server can log anything.
 */
#include "tools/hosted/hosted.h"

#include "base/os/file.h"
#include "json/jenc.h"
#include "base/limits.h"
#include "base/log.h"
#include "tools/hosted/hosted_server.h"

struct hosted {
	struct loop *loop;
	struct proc_host *procs;
	struct fetcher *fetcher;
	unsigned serial;
	struct hosted_set *own;
	struct list sets;    /* of sessions */
	struct list leaving; /* those that their session has released, while processes are left */
	uint64_t restarts;   /* of sets that are gone */
	struct loop_task settle_task;
	bool stopping;
	void (*stopped)(void *ctx); /* NULL: called already, or not wanted */
	void *ctx;
};

/* --- the servers of one file: the daemon's, or that of a session's project --------------------------------- */

struct hosted_set {
	struct list link;
	struct hosted *hosted; /* of a session: whose list it is in */
	char *path, *session;  /* session NULL: the daemon's own */
	struct mcpfile file;
	struct secrets secrets;
	struct hosted_server **servers; /* as many as entries */
};

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

/* servers: the settings that they share. serial: makes their marks differ from those of any other set. */
static struct hosted_set *hosted_set_new(const struct hosted_server_config *servers,
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

/* All of its servers must be down. */
static void hosted_set_delete(struct hosted_set *set)
{
	list_del(&set->link);
	for (size_t i = 0; i < set->file.n; i++)
		hosted_server_free(set->servers[i]);
	free(set->servers);
	/* After the servers, which borrow the secrets and their entries. */
	secrets_done(&set->secrets);
	mcpfile_done(&set->file);
	free_each(set->path, set->session, set);
}

static void hosted_set_stop(struct hosted_set *set, void (*down)(void *ctx), void *ctx)
{
	for (size_t i = 0; i < set->file.n; i++)
		hosted_server_stop(set->servers[i], down, ctx);
}

static void hosted_set_kill(struct hosted_set *set)
{
	for (size_t i = 0; i < set->file.n; i++)
		hosted_server_kill(set->servers[i]);
}

static bool hosted_set_down(const struct hosted_set *set)
{
	for (size_t i = 0; i < set->file.n; i++)
		if (!hosted_server_down(set->servers[i]))
			return false;
	return true;
}

/* Into an array that is open. */
static void hosted_set_put_servers(const struct hosted_set *set, struct jw *w)
{
	for (size_t i = 0; i < set->file.n; i++)
		hosted_server_put(set->servers[i], w);
}

static void hosted_set_put_problems(const struct hosted_set *set, struct jw *w)
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

static void hosted_set_count(const struct hosted_set *set, struct hosted_totals *totals)
{
	for (size_t i = 0; i < set->file.n; i++) {
		enum hosted_state state = hosted_server_state(set->servers[i]);

		totals->servers++;
		totals->ready += state == HOSTED_READY;
		totals->failed += state == HOSTED_FAILED;
		totals->restarts += hosted_server_restarts(set->servers[i]);
	}
}

/* --- all of them ------------------------------------------------------------------------------------------- */

/* The restarts of a set that is freed stay in the total, which must never fall. */
static void set_forget(struct hosted *h, struct hosted_set *set)
{
	struct hosted_totals t = { 0 };

	hosted_set_count(set, &t);
	h->restarts += t.restarts;
	hosted_set_delete(set);
}

/* A server is down: frees what waited for it, and calls stopped once all are down. */
static void hosted_settle(void *ctx)
{
	struct hosted *h = ctx;
	void (*stopped)(void *ctx) = h->stopped;
	bool down = hosted_set_down(h->own);

	list_each(set, &h->leaving, struct hosted_set, link)
		if (hosted_set_down(set))
			set_forget(h, set);
	list_each(set, &h->sets, struct hosted_set, link)
		down = down && hosted_set_down(set);
	if (!stopped || !down || !list_empty(&h->leaving))
		return;
	h->stopped = NULL;
	stopped(h->ctx);
}

static void hosted_on_down(void *ctx)
{
	struct hosted *h = ctx;

	loop_defer(h->loop, &h->settle_task, hosted_settle, h);
}

/* --- the daemon's own ----------------------------------------------------------------------------------- */

/* Replaces the set of the daemon. Must not be called while a server of the old one runs. */
void hosted_load(struct hosted *h, const struct hosted_config *config)
{
	struct mcpfile_source source = { .path = config->file };
	struct hosted_server_config servers = {
		.loop = h->loop,
		.procs = h->procs,
		.env = config->env,
		.cwd = config->home,
		.fetcher = h->fetcher,
		.bounds = config->bounds,
	};

	if (h->own)
		hosted_set_delete(h->own);
	h->own = hosted_set_new(&servers, &source, h->serial++);
}

struct hosted *hosted_new(struct loop *loop, struct proc_host *procs,
			  const struct hosted_config *config)
{
	struct hosted *h = new0(struct hosted);

	h->loop = loop;
	h->procs = procs;
	h->fetcher = config->fetcher;
	list_init(&h->sets);
	list_init(&h->leaving);
	hosted_load(h, config);
	return h;
}

/* Sets of sessions are not freed here: each session frees its own, before. */
struct hosted *hosted_free(struct hosted *h)
{
	if (!h)
		return NULL;
	loop_task_cancel(&h->settle_task);
	list_each(set, &h->leaving, struct hosted_set, link)
		hosted_set_delete(set);
	hosted_set_delete(h->own);
	free(h);
	return NULL;
}

void hosted_start(struct hosted *h)
{
	for (size_t i = 0; i < h->own->file.n; i++)
		hosted_server_start(h->own->servers[i]);
}

void hosted_stop(struct hosted *h, void (*done)(void *ctx), void *ctx)
{
	h->stopping = true;
	h->stopped = done;
	h->ctx = ctx;
	hosted_set_stop(h->own, hosted_on_down, h);
	list_each(set, &h->sets, struct hosted_set, link)
		hosted_set_stop(set, hosted_on_down, h);
	/* Also if no server runs, because `done` is called in any case. */
	hosted_on_down(h);
}

/* For the end of the patience of hosted_stop; stopped is still called, after the exits. */
void hosted_kill(struct hosted *h)
{
	hosted_set_kill(h->own);
	list_each(set, &h->sets, struct hosted_set, link)
		hosted_set_kill(set);
	list_each(set, &h->leaving, struct hosted_set, link)
		hosted_set_kill(set);
}

/* NULL and e, with the names that there are. */
static struct hosted_server *find_own(struct hosted *h, const char *name, struct err *e)
{
	_cleanup_(buf_done) struct buf known = { 0 };

	for (size_t i = 0; i < h->own->file.n; i++) {
		const char *have = hosted_server_name(h->own->servers[i]);

		if (strcmp(have, name) == 0)
			return h->own->servers[i];
		buf_printf(&known, "%s%s", i ? ", " : "; there are ", have);
	}
	err_set(e, -ENOENT, RPC_INVALID_PARAMS, "MCP_SERVER_UNKNOWN",
		"no MCP server of that name is hosted here%s",
		/* A longer list is left out: the message would cut it within a name. */
		buf_len(&known) && buf_len(&known) < ERR_MSG_SIZE / 2 ? known.data : "");
	return NULL;
}

struct mcp_backend *hosted_find(struct hosted *h, const char *name, struct err *e)
{
	struct hosted_server *s = find_own(h, name, e);

	return s ? hosted_server_backend(s, e) : NULL;
}

struct mcp_backend *hosted_find_for_session(struct hosted *h, const char *name, struct err *e)
{
	struct hosted_server *s = find_own(h, name, e);

	return s ? hosted_server_backend_for_session(s, e) : NULL;
}

const struct err *hosted_error(const struct hosted *h)
{
	const struct err *e = mcpfile_error(&h->own->file, NULL);

	for (size_t i = 0; !e && i < h->own->file.n; i++)
		e = mcpfile_error(&h->own->file, h->own->file.entries[i].name);
	return e;
}

void hosted_totals(const struct hosted *h, struct hosted_totals *ret)
{
	*ret = (struct hosted_totals){ .restarts = h->restarts };
	hosted_set_count(h->own, ret);
	list_each(set, &h->sets, struct hosted_set, link)
		hosted_set_count(set, ret);
}

/* --- reports --------------------------------------------------------------------------------------- */

void hosted_put_status(const struct hosted *h, struct jw *w, const char *key)
{
	size_t more = h->own->file.more_issues;

	jw_obj(w, key);
	jw_arr(w, "servers");
	hosted_set_put_servers(h->own, w);
	list_each(set, &h->sets, struct hosted_set, link)
		hosted_set_put_servers(set, w);
	jw_end_arr(w);
	jw_arr(w, "problems");
	hosted_set_put_problems(h->own, w);
	list_each(set, &h->sets, struct hosted_set, link) {
		hosted_set_put_problems(set, w);
		more += set->file.more_issues;
	}
	jw_end_arr(w);
	if (more)
		jw_uint(w, "moreProblems", more);
	jw_end_obj(w);
}

/* --- of sessions ---------------------------------------------------------------------------------------- */

struct hosted_set *hosted_set_load(struct hosted *h, const struct hosted_project *project)
{
	_cleanup_(freep) char *path = file_join(project->cwd, ".mcp.json");
	struct mcpfile_source source = { .path = path, .foreign = true, .bounds = project->bounds };
	struct hosted_server_config servers = {
		.loop = h->loop,
		.procs = h->procs,
		.env = project->env,
		.cwd = project->cwd,
		.fetcher = h->fetcher,
		.session = project->session,
		.bounds = project->bounds,
	};
	struct hosted_set *set = hosted_set_new(&servers, &source, h->serial++);

	set->hosted = h;
	list_add_tail(&h->sets, &set->link);
	/* Its servers never start. */
	if (h->stopping)
		hosted_set_stop(set, hosted_on_down, h);
	return set;
}

/* The set is not freed before its servers are down; the session is not notified of that. */
struct hosted_set *hosted_set_free(struct hosted_set *set)
{
	if (!set)
		return NULL;
	list_del(&set->link);
	list_add_tail(&set->hosted->leaving, &set->link);
	hosted_set_stop(set, hosted_on_down, set->hosted);
	/* Also if no server runs: then the deferred task frees the set. */
	hosted_on_down(set->hosted);
	return NULL;
}

void hosted_set_each(struct hosted_set *set,
		     void (*fn)(void *ctx, const char *name, struct mcp_backend *backend,
				const struct err *why),
		     void *ctx)
{
	for (size_t i = 0; i < set->file.n; i++) {
		struct hosted_server *s = set->servers[i];
		struct mcp_backend *backend;
		struct err e = { 0 };

		/* An entry that its file disables is no error to report. */
		if (hosted_server_state(s) == HOSTED_DISABLED)
			continue;
		backend = hosted_server_backend(s, &e);
		fn(ctx, hosted_server_name(s), backend, backend ? NULL : &e);
	}
}

const struct err *hosted_set_error(const struct hosted_set *set)
{
	return mcpfile_error(&set->file, NULL);
}
