/*
 * fetcher.c - creates and frees the fetcher, and reports whether keys can be kept in locked memory.
 *
 * The settings are copied here, and every run of acpd-fetch gets them as CONFIG (fetch_helper.c).
 * fetcher_check_keys refuses a key when a client names it, so a machine that locks no memory is
 * reported before the first model call.
 */
#include "fetcher/fetcher_internal.h"

#include "base/os/locked.h"
#include "json/jenc.h"

#include <errno.h>

struct fetcher *fetcher_new(const struct fetcher_config *cfg)
{
	struct fetcher *f = new0(struct fetcher);

	f->loop = cfg->loop;
	fetch_helper_init(f, cfg);
	f->settings = (struct fetch_settings){ xstrdup(cfg->http_proxy), xstrdup(cfg->https_proxy),
					       xstrdup(cfg->no_proxy), xstrdup(cfg->allow),
					       cfg->unlocked_keys };
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

const char *fetcher_key_memory(const struct fetcher *f)
{
	char why[LOCKED_WHY_SIZE];

	return locked_probe(why) == 0 ? "locked" : f->settings.unlocked ? "unlocked" : "refused";
}

int fetcher_check_keys(const struct fetcher *f, const char *field, struct err *e)
{
	char why[LOCKED_WHY_SIZE] = "";

	if (f->settings.unlocked || locked_probe(why) == 0)
		return 0;
	return err_field(e, field, "MEMORY_LOCK_REFUSED",
			 "cannot lock memory for keys: %s, or use --unlocked-keys", why);
}

static void put_key_memory(const struct fetcher *f, struct jw *w)
{
	char why[LOCKED_WHY_SIZE] = "";

	locked_probe(why);
	jw_str(w, "keyMemory", fetcher_key_memory(f));
	jw_str(w, "keyMemoryWhy", *why ? why : NULL);
}

void fetcher_put_status(const struct fetcher *f, struct jw *w, const char *key)
{
	jw_obj(w, key);
	standing_put_status(&f->helper, w);
	jw_str(w, "caFile", f->helper.argument);
	jw_bool(w, "proxy", is_set(f->settings.http_proxy) || is_set(f->settings.https_proxy));
	jw_str(w, "allowed", f->settings.allow);
	put_key_memory(f, w);
	jw_end_obj(w);
}
