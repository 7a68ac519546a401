#include "fetcher/fetcher_internal.h"

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
