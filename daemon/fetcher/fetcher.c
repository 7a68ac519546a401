/*
 * fetcher.c - the fetcher and its program: where it is, what each run gets first, and whether keys can be kept in
 * locked memory.
 *
 * The settings are copied here, and every run of acpd-fetch gets them as CONFIG.
 * fetcher_check_keys refuses a key when a client names it, so a machine that locks no memory is
 * reported before the first model call.
 */
#include "fetcher/fetcher_internal.h"

#include "base/os/file.h"
#include "base/os/locked.h"
#include "json/jenc.h"

/* --- the program ---------------------------------------------------------------------------------------------- */

char *fetcher_program(void)
{
	return file_program("ACPD_FETCH", "acpd-fetch");
}

char *fetcher_ca_file(void)
{
	static const char *const usual[] = { "/etc/ssl/certs/ca-certificates.crt", /* Debian */
					     "/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora */
					     "/etc/ssl/ca-bundle.pem",		   /* SUSE */
					     "/etc/ssl/cert.pem" };		   /* Alpine */

	for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
		if (access(usual[i], R_OK) == 0)
			return xstrdup(usual[i]);
	return NULL;
}

int fetcher_ca_check(const char *path, struct err *e)
{
	_cleanup_(buf_done) struct buf pem = { 0 };
	static const char mark[] = "-----BEGIN CERTIFICATE-----";
	int r = file_read(path, FETCH_CA_MAX, &pem);

	if (r < 0)
		return err_field(e, "ca-file", "OPTION_INVALID", "--ca-file: %s: %s", path,
				 strerror(-r));
	if (!memmem(pem.data, pem.len, mark, strlen(mark)))
		return err_field(e, "ca-file", "OPTION_INVALID",
				 "--ca-file: %s has no certificate in PEM form", path);
	return 0;
}

int fetcher_user(const char *asked, const char *agent_user, uid_t *uid, gid_t *gid, struct err *e)
{
	return standing_user(&(struct standing){ .name = "acpd-fetch",
						 .option = "fetch-user",
						 .user = (char *)asked,
						 .agent_user = (char *)agent_user },
			     uid, gid, e);
}

/* --- its runs: what each is sent first, and what becomes of requests when it ends -------------------------------- */

static void on_fetcher_begun(void *ctx, struct standing_run *run)
{
	_cleanup_(secret_buf_done) struct buf settings = { 0 };
	struct fetcher *f = ctx;

	fetch_settings_put(&settings, &f->settings);
	frame_channel_send(&run->channel, FRAME_CONFIG, 0, buf_slice(&settings), -1);
}

static void on_fetcher_ended(void *ctx, struct standing_run *run, const char *why)
{
	fetch_end_all(ctx, run, run->ready ? FETCH_GONE : FETCH_UNAVAILABLE, why);
}

static const struct standing_ops ops = { .channel = { FRAME_MAX, standing_take, standing_lost },
					 .ready = FRAME_READY,
					 .begun = on_fetcher_begun,
					 .frame = fetch_take_frame,
					 .ended = on_fetcher_ended };

static void helper_init(struct fetcher *f, const struct fetcher_config *cfg)
{
	f->helper = (struct standing){
		.loop = cfg->loop,
		.procs = cfg->procs,
		.name = "acpd-fetch",
		.variable = "ACPD_FETCH",
		.option = "fetch-user",
		.program = cfg->program ? xstrdup(cfg->program) : fetcher_program(),
		.user = xstrdup(cfg->user),
		.agent_user = xstrdup(cfg->agent_user),
		.argument = cfg->ca_file ? xstrdup(cfg->ca_file) : fetcher_ca_file(),
		.ops = &ops,
		.ctx = f
	};
	standing_init(&f->helper);
}

/* --- life ----------------------------------------------------------------------------------------------------- */

struct fetcher *fetcher_new(const struct fetcher_config *cfg)
{
	struct fetcher *f = new0(struct fetcher);

	f->loop = cfg->loop;
	helper_init(f, cfg);
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

static bool fetcher_is_set(const char *s)
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
	jw_bool(w, "proxy",
		fetcher_is_set(f->settings.http_proxy) || fetcher_is_set(f->settings.https_proxy));
	jw_str(w, "allowed", f->settings.allow);
	put_key_memory(f, w);
	jw_end_obj(w);
}
