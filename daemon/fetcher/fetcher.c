#include "fetcher/fetcher_internal.h"

#include "json/jenc.h"

struct fetcher *fetcher_new(const struct fetcher_config *cfg)
{
	struct fetcher *f = new0(struct fetcher);

	f->loop = cfg->loop;
	fetch_helper_init(f, cfg);
	f->settings = (struct fetch_settings){ xstrdup(cfg->http_proxy), xstrdup(cfg->https_proxy),
					       xstrdup(cfg->no_proxy), xstrdup(cfg->allow) };
	list_init(&f->keys);
	return f;
}

void fetcher_allow(struct fetcher *f, const char *allow)
{
	xstrset(&f->settings.allow, allow);
}

struct fetcher *fetcher_free(struct fetcher *f)
{
	if (!f)
		return NULL;
	standing_done(&f->helper);
	fetch_settings_done(&f->settings);
	free(f);
	return NULL;
}

void fetcher_break_off(struct fetcher *f)
{
	standing_break_off(&f->helper);
}

static bool is_set(const char *s)
{
	return s && *s;
}

void fetcher_put_status(const struct fetcher *f, struct jw *w, const char *key)
{
	jw_obj(w, key);
	standing_put_status(&f->helper, w);
	jw_str(w, "caFile", f->helper.argument);
	jw_bool(w, "proxy", is_set(f->settings.http_proxy) || is_set(f->settings.https_proxy));
	jw_str(w, "allowed", f->settings.allow);
	jw_end_obj(w);
}
