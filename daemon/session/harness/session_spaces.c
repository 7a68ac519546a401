#include "session/harness/session_spaces.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "json/jstr.h"
#include "proc/spaces/seen_programs.h"
#include "proc/spaces/spaces.h"
#include "session/harness/session_level.h"
#include "session/session_internal.h"
#include "session/workspace/session_paths.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#define TMP_NAME                                                                                   \
	"system-tmp" /* in its home: not the harness's TMPDIR, which is emptied at each start */

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

static int add_workspace(struct fsview *v, const struct session *s, struct err *e)
{
	struct slice dirs = slice_of(s->setup.additional_dirs);
	int r = fsview_add(v, FSVIEW_WRITABLE, s->cwd, e);
	struct jiter it;
	struct jval j;

	if (!dirs.n || !jiter_init(&it, (struct jval){ J_ARRAY, dirs }))
		return r;
	while (r == 0 && jiter_next(&it, NULL, &j)) {
		_cleanup_(freep) char *dir = NULL;

		if (jstr_decode(j, PATH_BYTES_MAX, &dir) == 0)
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

static int fill(struct fsview *v, struct session *s, struct err *e)
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

static int make_anew(struct session *s, struct err *e)
{
	struct fsview *v = fsview_new();
	int r = fill(v, s, e);

	if (r == 0) {
		s->harness.spaces =
			spaces_new(v, s->id, s->user.switched, s->user.uid, s->user.gid, e);
		r = s->harness.spaces ? 0 : -EIO;
	}
	fsview_free(v);
	return r;
}

static char *directories(const struct session *s)
{
	char *text;

	if (asprintf(&text, "%s %s", s->cwd,
		     s->setup.additional_dirs ? s->setup.additional_dirs : "") < 0)
		abort();
	return text;
}

int session_spaces_open(struct session *s, struct err *e)
{
	_cleanup_(freep) char *now = NULL;
	int r;

	if (s->harness.state != H_NONE) /* what is new waits for the next harness */
		return 0;
	if (session_level(s) < LEVEL_STRICT || spaces_missing()) {
		session_spaces_close(s);
		return 0;
	}
	now = directories(s);
	if (s->harness.spaces && spaces_live(s->harness.spaces) &&
	    strcmp(s->harness.spaces_for, now) == 0)
		return 0;
	session_spaces_close(s);
	r = make_anew(s, e);
	if (r == 0)
		s->harness.spaces_for = TAKE_PTR(now);
	return r;
}

void session_spaces_close(struct session *s)
{
	s->harness.spaces = spaces_unref(s->harness.spaces);
	xstrset(&s->harness.spaces_for, NULL);
}
