/*
 * render.c - a row's environment and files: the provider input in the agent's own form.
 *
 * A value of a row is a template. One that names something absent leaves its variable out, so a row can hold the general
 * entry first and the one for a certain API after it: the later one wins if it applies.
 */
#include "harnesses/acp/internal.h"

#include "base/os/file.h"
#include "json/json.h"

/* The values that a template may name. NULL: absent. */
struct placeholders {
	const char *key, *base_url, *model, *small_model, *home;
	char *root, *headers;
};

/* The address without the version, which its clients add themselves. */
static char *root_of(const char *url)
{
	static const char *const versions[] = { "/v1", "/v1beta" };
	size_t n = url ? strlen(url) : 0;

	if (!url)
		return NULL;
	while (n && url[n - 1] == '/')
		n--;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		size_t m = strlen(versions[i]);

		if (n > m && memcmp(url + n - m, versions[i], m) == 0)
			return xstrndup(url, n - m);
	}
	return xstrndup(url, n);
}

/* Names and values are such as a header may have (harness_provider_parse). */
static char *provider_header_lines(struct slice headers)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	if (!headers.n)
		return NULL;
	jobj_each(key, v, headers) {
		_cleanup_(freep) char *value = NULL;

		if (jstr_decode(v, 16 * KIB, &value) < 0)
			continue;
		buf_printf(&b, "%s%.*s: %s", b.len ? "\n" : "", (int)key.n, key.p, value);
	}
	return b.len ? xstrndup(b.data, b.len) : NULL;
}

static void words_done(struct placeholders *w)
{
	free_each(w->root, w->headers);
}

static const char *template_value(const struct placeholders *w, const char *name, size_t n)
{
	const struct {
		const char *name, *value;
	} rows[] = {
		{ "key", w->key },     { "baseUrl", w->base_url }, { "root", w->root },
		{ "model", w->model }, { "headers", w->headers },  { "smallModel", w->small_model },
		{ "home", w->home },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strlen(rows[i].name) == n && memcmp(rows[i].name, name, n) == 0)
			return rows[i].value;
	return NULL;
}

/* NULL: it names an absent value. */
static char *expand_template(const char *text, const struct placeholders *w)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	while (*text) {
		const char *end = *text == '{' ? strchr(text, '}') : NULL;
		const char *value;

		/* Text outside of a placeholder, and a { without its }. */
		if (!end) {
			buf_putc(&b, *text++);
			continue;
		}
		value = template_value(w, text + 1, (size_t)(end - text - 1));
		if (!value)
			return NULL;
		buf_puts(&b, value);
		text = end + 1;
	}
	return xstrndup(b.data ? b.data : "", b.len);
}

static bool row_applies(const struct acp_env *row, const struct harness_provider *p)
{
	return !row->api || (p && strcmp(row->api, p->api) == 0);
}

static int check_quirks_api(const struct acp_quirks *q, const struct harness_provider *p,
			    struct err *e)
{
	if (!p || !q->env)
		return 0;
	/* A row for the API shows that the agent has a client for it. */
	for (const struct acp_env *row = q->env; row->name; row++)
		if (row->api && strcmp(row->api, p->api) == 0)
			return 0;
	return err_field(e, "_meta.acpd.provider.api", "PROVIDER_API_UNSUPPORTED",
			 "this harness has no client for the provider's API");
}

static void put_strings(struct jw *w, const char *key, struct jval array)
{
	jw_raw(w, key, array.type == J_ARRAY ? array.raw : SLICE("[]"));
}

static void put_server_env(struct jw *w, struct jval list)
{
	jw_obj(w, "env");
	jarr_each(v, list) {
		_cleanup_(freep) char *name = NULL;

		if (jstr_decode(jobj_get(v.raw, "name"), 4 * KIB, &name) == 0)
			jw_raw(w, name, jobj_get(v.raw, "value").raw);
	}
	jw_end_obj(w);
}

/* Servers that session/new would refuse, in the agent's own configuration file. */
static void plan_mcp_file(const struct acp_quirks *q, const struct harness_req *req,
			  struct harness_plan *plan)
{
	JW_BUF(w, b);
	size_t n = 0;

	jw_obj(&w, NULL);
	jw_obj(&w, "mcpServers");
	jarr_each(v, req->mcp_servers) {
		_cleanup_(freep) char *name = NULL;

		/* Servers with a type are remote (ACP) and stay in session/new. */
		if (jobj_get(v.raw, "type").type == J_STRING ||
		    jstr_decode(jobj_get(v.raw, "name"), 256, &name) < 0)
			continue;
		jw_obj(&w, name);
		jw_str(&w, "type", "local");
		jw_raw(&w, "command", jobj_get(v.raw, "command").raw);
		put_strings(&w, "args", jobj_get(v.raw, "args"));
		put_server_env(&w, jobj_get(v.raw, "env"));
		jw_raw(&w, "tools", SLICE("[\"*\"]"));
		jw_end_obj(&w);
		n++;
	}
	jw_end_obj(&w);
	jw_end_obj(&w);
	/* harness_plan_file takes a C string. */
	buf_putc(&b, '\0');
	if (n)
		harness_plan_file(plan, q->mcp_file, b.data);
}

int acp_quirks_plan(const struct acp_quirks *q, const struct harness_req *req,
		    struct harness_plan *plan, struct err *e)
{
	const struct harness_provider *p = req->provider;
	_cleanup_(words_done) struct placeholders w = {
		.key = p ? p->key : NULL,
		.base_url = p ? p->base_url : NULL,
		.model = req->model ? req->model :
			 p	    ? p->model :
				      NULL,
		.small_model = p ? p->small_model : NULL,
		.home = req->home,
		.root = p ? root_of(p->base_url) : NULL,
		.headers = p ? provider_header_lines(p->headers) : NULL,
	};
	int r = check_quirks_api(q, p, e);

	if (r < 0)
		return r;
	for (const struct acp_env *row = q->env; row && row->name; row++) {
		_cleanup_(freep) char *value = NULL;

		if (row_applies(row, p))
			value = expand_template(row->value, &w);
		/* harness_plan_env replaces an earlier value, so the last row that applies wins. */
		if (value)
			harness_plan_env(plan, row->name, value);
	}
	for (const struct acp_file *f = q->files; f && f->path; f++)
		harness_plan_file(plan, f->path, f->text);
	if (q->mcp_file)
		plan_mcp_file(q, req, plan);
	return 0;
}

int harness_acp_plan(const struct harness_def *def, const struct harness_req *req,
		     struct harness_plan *plan, struct err *e)
{
	harness_plan_command(plan, def, NULL);
	return def->quirks ? acp_quirks_plan(def->quirks, req, plan, e) : 0;
}

/* No agent with a row has a setting for it (README.md), and others are unknown. */
int acp_plan(const struct harness_def *def, const struct harness_req *req,
	     struct harness_plan *plan, struct err *e)
{
	if (req->provider && !harness_takes_provider(def))
		return err_field(e, "_meta.acpd.provider", "PROVIDER_UNSUPPORTED",
				 "acpd does not know how to give a provider to the agent '%s': set "
				 "its variables in _meta.acpd.env, or name quirks in its manifest "
				 "entry",
				 def->id);
	if (harness_keeps_silence(req->provider))
		return err_field(e, "_meta.acpd.provider.idleTimeoutMs", "PARAM_UNSUPPORTED",
				 "this harness cannot be told how long a provider may be silent");
	return harness_acp_plan(def, req, plan, e);
}
