/*
 * agui_settings.c - the settings of a thread, and the parameters of session/new and session/load.
 *
 * The first run or a profile fixes them. Settings can contain keys, so only their SHA-256 is on
 * disk. After a restart the digest alone is left: a run must repeat the settings unless the thread
 * has a profile. _meta.acpd of session/load has only the secrets that a restart has lost: the
 * journal has the rest. Unknown members are copied, because session/new checks them.
 */
#include "agui/agui_run.h"

#include "agui/agui_link.h"
#include "base/os/file.h"
#include "json/jstr.h"

/* --- profiles ------------------------------------------------------------------------------------------------------- */

/* The next item of a list; false: there is none. */
static bool next_profile_item(struct slice *list, struct slice *name, struct slice *file)
{
	/* There is no quoting: a file whose name has a comma cannot be given. */
	return list->n && slice_item(list, ',', file) && slice_item(file, '=', name);
}

static int read_profile(struct slice file, struct buf *ret, struct err *e)
{
	_cleanup_(freep) char *path = xstrndup(file.p, file.n);
	struct jval v;
	int r = file_read(path, AGUI_PROFILE_MAX, ret);

	if (r < 0)
		return err_set(e, r, RPC_INTERNAL_ERROR, "PROFILE_UNUSABLE",
			       "the profile cannot be read: %s", strerror(-r));
	if (jscan_value(buf_slice(ret), &v) != JSCAN_OK || v.type != J_OBJECT)
		return err_set(e, -EINVAL, RPC_INTERNAL_ERROR, "PROFILE_UNUSABLE",
			       "the profile is no JSON object");
	return 0;
}

int agui_profile_read(const char *list, const char *name, struct buf *ret, struct err *e)
{
	struct slice left = slice_of(list), own, file;

	while (next_profile_item(&left, &own, &file))
		if (slice_is(own, name))
			return read_profile(file, ret, e);
	return err_field(e, "profile", "PROFILE_UNKNOWN", "there is no such profile");
}

static int check_profile_item(struct slice name, struct slice file, struct err *e)
{
	_cleanup_(secret_buf_done) struct buf text = { 0 };
	int r;

	if (!name.n || !file.n)
		return err_field(e, "profile", "OPTION_INVALID", "--profile: it is NAME=FILE");
	r = read_profile(file, &text, e);
	if (r == 0)
		return 0;
	return err_field(e, "profile", "OPTION_INVALID",
			 "--profile: %.*s: it is no file with a JSON object", (int)MIN(name.n, 64),
			 name.p);
}

int agui_profiles_check(const char *list, struct err *e)
{
	struct slice left = slice_of(list), name, file;
	int r = 0;

	while (r == 0 && next_profile_item(&left, &name, &file))
		r = check_profile_item(name, file, e);
	return r;
}

/* --- of a thread ---------------------------------------------------------------------------------------------------- */

static const char *const own_members[] = { "cwd", "mcpServers", "additionalDirectories",
					   "whenDetached", "workspace" };

static bool is_own_member(struct slice key)
{
	for (size_t i = 0; i < ARRAY_SIZE(own_members); i++)
		if (jkey_is(key, own_members[i]))
			return true;
	return false;
}

static int check_settings(struct slice settings, struct err *e)
{
	struct jval servers = jobj_get(settings, "mcpServers"), cwd = jobj_get(settings, "cwd"),
		    workspace = jobj_get(settings, "workspace");

	if (jobj_get(settings, "harness").type != J_NONE)
		return err_field(e, "forwardedProps.acpd.harness", "PARAM_UNSUPPORTED",
				 "the harness stands in the path");
	if (cwd.type != J_NONE && cwd.type != J_STRING)
		return err_field(e, "forwardedProps.acpd.cwd", "FIELD_INVALID",
				 "forwardedProps.acpd.cwd must be text");
	if (servers.type != J_NONE && servers.type != J_ARRAY)
		return err_field(e, "forwardedProps.acpd.mcpServers", "FIELD_INVALID",
				 "forwardedProps.acpd.mcpServers must be an array");
	if (cwd.type == J_NONE && jobj_get(workspace.raw, "ephemeral").type == J_FALSE)
		return err_field(e, "forwardedProps.acpd.cwd", "FIELD_MISSING",
				 "forwardedProps.acpd.cwd: a workspace that is not ephemeral needs "
				 "it");
	return 0;
}

static void settings_digest(struct slice text, char out[SHA256_HEX])
{
	struct sha256 d;

	out[0] = '\0';
	if (text.n && sha256_of(text, &d) == 0)
		sha256_hex(&d, out);
}

static void keep_settings(struct agui_thread *t, struct slice settings)
{
	struct jval when = jobj_get(settings, "whenDetached");

	buf_reset(&t->given);
	buf_add_slice(&t->given, settings);
	t->goes_on = jstr_is(when, "continue") || jstr_is(when, "hold");
}

static int take_profile(const struct agui *a, struct agui_thread *t, struct err *e)
{
	_cleanup_(secret_buf_done) struct buf text = { 0 };
	int r = agui_profile_read(a->profiles, t->profile, &text, e);

	if (r == 0)
		r = check_settings(buf_slice(&text), e);
	if (r == 0)
		keep_settings(t, buf_slice(&text));
	return r;
}

static int check_same(const struct agui_thread *t, struct slice settings, const char *hex,
		      struct err *e)
{
	if (settings.n && strcmp(hex, t->settings) != 0)
		return err_field(e, "forwardedProps.acpd", "SETTINGS_FIXED",
				 "the thread was begun with other settings");
	/* After a restart `given` is empty, and only the digest is left. */
	if (!settings.n && *t->settings && !buf_len(&t->given))
		return err_field(e, "forwardedProps.acpd", "SETTINGS_REQUIRED",
				 "the daemon was restarted: the thread needs its settings again");
	return 0;
}

int agui_settings_take(const struct agui *a, struct agui_thread *t, const struct agui_input *in,
		       bool new_thread, struct err *e)
{
	char hex[SHA256_HEX];
	int r = check_settings(in->settings, e);

	if (r == 0 && t->profile && in->settings.n)
		r = err_field(e, "forwardedProps.acpd", "SETTINGS_FIXED",
			      "the thread has the settings of a profile");
	if (r < 0 || t->profile)
		return r < 0 ? r : take_profile(a, t, e);
	settings_digest(in->settings, hex);
	if (!new_thread)
		r = check_same(t, in->settings, hex, e);
	if (r < 0)
		return r;
	if (new_thread)
		snprintf(t->settings, sizeof(t->settings), "%s", hex);
	if (in->settings.n)
		keep_settings(t, in->settings);
	return 0;
}

/* --- parameters of ACP ---------------------------------------------------------------------------------------------- */

static void put_settings_servers(struct jw *w, struct slice settings, bool has_front_end)
{
	struct jval servers = jobj_get(settings, "mcpServers");

	jw_arr(w, "mcpServers");
	jarr_each(v, servers)
		jw_raw(w, NULL, v.raw);
	if (has_front_end)
		agui_tools_declare(w);
	jw_end_arr(w);
}

/* Without cwd it is ephemeral, whatever is delivered into it. What is not an object session/new refuses. */
static void put_settings_workspace(struct jw *w, struct slice settings)
{
	struct jval given = jobj_get(settings, "workspace");
	bool decided = jobj_get(settings, "cwd").type == J_STRING ||
		       jobj_get(given.raw, "ephemeral").type != J_NONE;

	if (decided || (given.type != J_NONE && given.type != J_OBJECT)) {
		jw_raw(w, "workspace", given.raw);
		return;
	}
	jw_obj(w, "workspace");
	if (given.type == J_OBJECT)
		jw_members(w, given.raw, NULL);
	jw_bool(w, "ephemeral", true);
	jw_end_obj(w);
}

static void put_settings_meta(struct jw *w, struct slice settings, struct slice trace)
{
	struct jval when = jobj_get(settings, "whenDetached");

	jw_obj(w, "_meta");
	jw_raw(w, NULL, trace);
	jw_obj(w, "acpd");
	jobj_each(key, v, settings)
		if (!is_own_member(key))
			jw_member_raw(w, key, v.raw);
	if (!jstr_is(when, "cancel")) /* a run that waits for its client is no client that left */
		jw_raw(w, "whenDetached", when.raw);
	put_settings_workspace(w, settings);
	jw_end_obj(w);
	jw_end_obj(w);
}

void agui_settings_put_new(const struct agui_thread *t, bool has_front_end, struct slice trace,
			   struct buf *b)
{
	struct slice settings = buf_slice(&t->given), cwd = jobj_get(settings, "cwd").raw;
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	/* ACP requires an absolute cwd. An ephemeral workspace has a directory of its own. */
	jw_raw(&w, "cwd", cwd.n ? cwd : SLICE("\"/\""));
	put_settings_servers(&w, settings, has_front_end);
	jw_raw(&w, "additionalDirectories", jobj_get(settings, "additionalDirectories").raw);
	put_settings_meta(&w, settings, trace);
	jw_end_obj(&w);
}

/* What a restart of the daemon has taken is given again; what else there was stands in the session's journal. */
void agui_settings_put_load(const struct agui_thread *t, const char *cwd, struct slice trace,
			    struct buf *b)
{
	static const char *const secret[] = { "provider", "env", "envKeep", "secrets" };
	struct slice settings = buf_slice(&t->given);
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_str(&w, "sessionId", t->session_id);
	jw_str(&w, "cwd", cwd);
	put_settings_servers(&w, settings, t->has_front_end);
	jw_raw(&w, "additionalDirectories", jobj_get(settings, "additionalDirectories").raw);
	jw_obj(&w, "_meta");
	jw_raw(&w, NULL, trace);
	jw_obj(&w, "acpd");
	/* A session that was opened since the daemon started has them in memory. */
	for (size_t i = 0; !t->opened && i < ARRAY_SIZE(secret); i++)
		jw_raw(&w, secret[i], jobj_get(settings, secret[i]).raw);
	jw_end_obj(&w);
	jw_end_obj(&w);
	jw_end_obj(&w);
}
