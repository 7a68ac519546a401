#include "fetcher/fetcher_internal.h"

#include "json/jenc.h"

#include <pwd.h>

struct fetcher *fetcher_new(const struct fetcher_config *cfg)
{
	struct fetcher *f = new0(struct fetcher);

	f->loop = cfg->loop;
	f->procs = cfg->procs;
	f->program = cfg->program ? xstrdup(cfg->program) : fetcher_program();
	f->user = xstrdup(cfg->user);
	f->agent_user = xstrdup(cfg->agent_user);
	f->ca_file = cfg->ca_file ? xstrdup(cfg->ca_file) : fetcher_ca_file();
	f->settings = (struct fetch_settings){ xstrdup(cfg->http_proxy), xstrdup(cfg->https_proxy),
					       xstrdup(cfg->no_proxy), xstrdup(cfg->allow) };
	list_init(&f->runs);
	list_init(&f->keys);
	return f;
}

struct fetcher *fetcher_free(struct fetcher *f)
{
	if (!f)
		return NULL;
	fetch_runs_end(f);
	fetch_settings_done(&f->settings);
	free(f->program);
	free(f->user);
	free(f->agent_user);
	free(f->ca_file);
	free(f);
	return NULL;
}

static void put_user(const struct fetcher *f, struct jw *w)
{
	struct passwd *pw;
	struct err e = { 0 };
	uid_t uid = geteuid();
	gid_t gid;

	if (uid == 0 && fetcher_user(f->user, f->agent_user, &uid, &gid, &e) < 0) {
		jw_str(w, "missing", e.msg);
		return;
	}
	pw = getpwuid(uid);
	jw_str(w, "user", pw ? pw->pw_name : NULL);
}

static bool is_set(const char *s)
{
	return s && *s;
}

void fetcher_put_status(const struct fetcher *f, struct jw *w, const char *key)
{
	jw_obj(w, key);
	jw_str(w, "program", f->program);
	if (f->program)
		put_user(f, w);
	else
		jw_str(w, "missing", "acpd-fetch is not installed");
	jw_str(w, "caFile", f->ca_file);
	jw_bool(w, "proxy", is_set(f->settings.http_proxy) || is_set(f->settings.https_proxy));
	jw_str(w, "allowed", f->settings.allow);
	jw_end_obj(w);
}
