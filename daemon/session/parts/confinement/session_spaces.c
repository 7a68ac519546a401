/*
 * session_spaces.c - computes the view of a session in its mount namespace, and when it needs new
 * namespaces.
 *
 * describe_spaces() returns everything that the namespaces depend on, as text. They are reused while
 * that text is equal. They never change under a running harness, so the harness and its tools
 * always share them. Hidden paths are added after the session's own, and fsview_settle resolves
 * their overlap.
 */
#include "session/parts/confinement/session_spaces.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "json/jstr.h"
#include "proc/spaces/fsview.h"
#include "proc/spaces/shut_devices.h"
#include "proc/spaces/spaces.h"
#include "session/parts/confinement/session_level.h"
#include "session/core/session_internal.h"
#include "session/core/session_paths.h"
#include "session/parts/mcp/session_mcp_internal.h"

#include <limits.h>

/* In the session's home. Not the harness's TMPDIR, which is emptied at each start. */
#define TMP_NAME "system-tmp"

/* --- programs ----------------------------------------------------------------------------------------------------- */

static void add_harness(struct fsview *v, const struct harness_def *def)
{
	_cleanup_(freep) char *program = harness_program(def);

	if (program)
		seen_program(v, program);
	for (char **arg = def->args; arg && *arg; arg++)
		if (**arg == '/')
			seen_program(v, *arg);
}

/* --- the view -------------------------------------------------------------------------------------------------------- */

/* With a draft, what stands for it: the real tree is not written. */
static int add_cwd(struct fsview *v, const struct session *s, struct err *e)
{
	if (s->overlay)
		return fsview_over(v, s->cwd, s->overlay, e);
	/* Programs work somewhere else, in the session's home. */
	return fsview_add(v, s->workdir ? FSVIEW_SHOWN : FSVIEW_WRITABLE, s->cwd, e);
}

static int add_workspace(struct fsview *v, const struct session *s, struct err *e)
{
	int r = add_cwd(v, s, e);

	jarr_each(one, slice_of(s->setup.additional_dirs)) {
		_cleanup_(freep) char *dir = NULL;

		if (r == 0 && jstr_decode(one, PATH_BYTES_MAX, &dir) == 0)
			r = fsview_add(v, FSVIEW_WRITABLE, dir, e);
	}
	return r;
}

static int add_home(struct fsview *v, const struct session *s, struct err *e)
{
	_cleanup_(freep) char *tmp = file_join(s->home, TMP_NAME);
	int r = paths_fresh_dir(s, TMP_NAME);

	if (r < 0)
		return err_set(e, r, RPC_INTERNAL_ERROR, "STATE_NOT_WRITABLE",
			       "cannot prepare the session's home: %s", strerror(-r));
	r = fsview_add(v, FSVIEW_WRITABLE, s->home, e);
	if (r == 0)
		r = fsview_put(v, "/tmp", tmp, e);
	return r < 0 ? r : fsview_put(v, "/var/tmp", tmp, e);
}

static int add_place(struct fsview *v, struct session *s, struct err *e)
{
	struct mcp_place place;
	int r = mcp_servers_place(s, &place, e);

	if (r < 0 || !place.run)
		return r;
	fsview_add(v, FSVIEW_SECRET, place.run, NULL);
	seen_program(v, place.program);
	return fsview_add(v, FSVIEW_SHOWN, place.own, e);
}

static int fill_session_view(struct fsview *v, struct session *s, struct err *e)
{
	int r = add_workspace(v, s, e);

	if (r == 0)
		r = add_home(v, s, e);
	if (r == 0)
		r = add_place(v, s, e);
	fsview_add(v, FSVIEW_SECRET, s->store->state_dir, NULL);
	seen_homes_hidden(v);
	seen_path(v, getenv("PATH"));
	add_harness(v, s->def);
	return r == 0 ? fsview_settle(v, e) : r;
}

/* --- life ------------------------------------------------------------------------------------------------------------ */

enum spaces_kind { SPACES_NONE, SPACES_MOUNTS, SPACES_ALL };

static bool shuts_devices(const struct session *s)
{
	return shut_devices_needed(session_level(s), s->user.switched);
}

/* Below strict there is a mount namespace alone, if at all: for the overlay of a draft, which replaces cwd in it, and for
 * devices that the session could open. All else is as outside. */
static enum spaces_kind spaces_kind_of(const struct session *s)
{
	if (session_level(s) == LEVEL_STRICT && !spaces_missing())
		return SPACES_ALL;
	return s->overlay || shuts_devices(s) ? SPACES_MOUNTS : SPACES_NONE;
}

static struct spaces *make_mounts(struct session *s, struct fsview *v, struct err *e)
{
	if (s->overlay && add_cwd(v, s, e) < 0)
		return NULL;
	if (shuts_devices(s))
		shut_devices_add(v);
	return fsview_settle(v, e) < 0 ? NULL : spaces_new_mounts(v, e);
}

static struct spaces *make_kind(struct session *s, enum spaces_kind kind, struct fsview *v,
				struct err *e)
{
	if (kind == SPACES_ALL)
		return fill_session_view(v, s, e) < 0 ?
			       NULL :
			       spaces_new(v, s->id, s->user.switched, s->user.uid, s->user.gid, e);
	return make_mounts(s, v, e);
}

static int renew_spaces(struct session *s, enum spaces_kind kind, struct err *e)
{
	struct fsview *v = fsview_new();

	s->harness.spaces = make_kind(s, kind, v, e);
	fsview_free(v);
	return s->harness.spaces ? 0 : -EIO;
}

static char *describe_spaces(const struct session *s, enum spaces_kind kind)
{
	return xprintf("%d %d %d %s %s %s", kind, shuts_devices(s), s->workdir != NULL,
		       s->overlay ? s->overlay : "", s->cwd,
		       s->setup.additional_dirs ? s->setup.additional_dirs : "");
}

int session_spaces_open(struct session *s, struct err *e)
{
	enum spaces_kind kind = spaces_kind_of(s);
	_cleanup_(freep) char *now = NULL;
	int r;

	if (s->harness.state != H_NONE) /* what is new waits for the next harness */
		return 0;
	if (kind == SPACES_NONE) {
		session_spaces_close(s);
		return 0;
	}
	r = session_tree_open(s, e);
	if (r < 0)
		return r;
	now = describe_spaces(s, kind);
	if (s->harness.spaces && spaces_live(s->harness.spaces) &&
	    strcmp(s->harness.spaces_for, now) == 0)
		return 0;
	session_spaces_close(s);
	r = renew_spaces(s, kind, e);
	if (r == 0)
		s->harness.spaces_for = TAKE_PTR(now);
	return r;
}

void session_spaces_close(struct session *s)
{
	s->harness.spaces = spaces_unref(s->harness.spaces);
	xstrset(&s->harness.spaces_for, NULL);
}

/* A row of its own: the namespaces are made after the network that they stand in. They are released by the row level,
 * before the network and a draft whose mount is bound into them. */
const struct session_part spaces_part = {
	.name = "spaces",
	.open_bounds = session_spaces_open,
};
