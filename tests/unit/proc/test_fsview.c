/* What a session's view is settled to: which places need a mount, in which order, and what is refused. No mount is made. */
#include "base/os/file.h"
#include "proc/spaces/fsview_internal.h"
#include "unit.h"

#include <errno.h>
#include <sys/stat.h>

static int make_tree(void **state)
{
	static const char *const dirs[] = {
		"home/me/bin",	     "home/me/work", "home/other", "state/homes/a/system-tmp",
		"state/homes/b/bin", "run/mcp/a",    "tmp"
	};

	if (scratch_setup(state) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (file_mkdirs(scratch_path(dirs[i]), 0755) < 0)
			return -1;
	return symlink("me", scratch_path("home/link"));
}

struct added {
	enum fsview_kind kind;
	const char *path; /* below the scratch directory; starting with '/': as it is */
};

static const char *absolute(const char *path)
{
	return *path == '/' ? path : scratch_path(path);
}

/* Without what stands before it; the scratch directory is "". */
static const char *relative(const char *path)
{
	size_t n = strlen(scratch_dir());

	return path[n] ? path + n + 1 : "";
}

static const char *show(const struct fsview *v)
{
	static const char letters[] = "THPSWDX";
	static char text[2048];
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < v->n; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%c%d:%s", i ? " " : "",
				      letters[v->place[i].kind], v->place[i].over,
				      relative(v->place[i].path));
	return text;
}

/* The places in their order: kind, the number of what it lies in, path. Or "reason: ..." */
static const struct {
	const char *name;
	struct added add[8];
	const char *want;
} rows[] = {
	{ "a workspace in a hidden directory",
	  { { FSVIEW_WRITABLE, "home/me/work" }, { FSVIEW_HIDDEN, "home" } },
	  "H-1:home W0:home/me/work" },
	{ "a workspace that is the hidden directory",
	  { { FSVIEW_WRITABLE, "home" }, { FSVIEW_HIDDEN, "home" } },
	  "W-1:home" },
	{ "a workspace above the state",
	  { { FSVIEW_WRITABLE, "." },
	    { FSVIEW_SECRET, "state" },
	    { FSVIEW_WRITABLE, "state/homes/a" } },
	  "W-1: X0:state W1:state/homes/a" },
	{ "the workspace in another",
	  { { FSVIEW_WRITABLE, "home" }, { FSVIEW_WRITABLE, "home/me" } },
	  "W-1:home" },
	{ "programs need a mount only where they are hidden",
	  { { FSVIEW_TOOLS, "home/me/bin" } },
	  "" },
	{ "programs in a hidden directory",
	  { { FSVIEW_TOOLS, "home/me/bin" }, { FSVIEW_HIDDEN, "home" } },
	  "H-1:home T0:home/me/bin" },
	{ "programs of others' homes are not seen",
	  { { FSVIEW_TOOLS, "state/homes/b/bin" },
	    { FSVIEW_SECRET, "state" },
	    { FSVIEW_WRITABLE, "state/homes/a" } },
	  "X-1:state W0:state/homes/a" },
	{ "nor where the state lies in something hidden",
	  { { FSVIEW_TOOLS, "state/homes/b/bin" },
	    { FSVIEW_SECRET, "state" },
	    { FSVIEW_HIDDEN, "." } },
	  "H-1:" },
	{ "the socket's directory",
	  { { FSVIEW_SHOWN, "run/mcp/a" }, { FSVIEW_SECRET, "run" } },
	  "X-1:run S0:run/mcp/a" },
	{ "it stays read-only in a workspace",
	  { { FSVIEW_SHOWN, "home/me" }, { FSVIEW_WRITABLE, "home" } },
	  "W-1:home S0:home/me" },
	{ "what is not there is left out",
	  { { FSVIEW_HIDDEN, "none" }, { FSVIEW_TOOLS, "none" } },
	  "" },
	{ "a name by a link, where the link is not seen",
	  { { FSVIEW_WRITABLE, "home/link/work" }, { FSVIEW_HIDDEN, "home" } },
	  "H-1:home W0:home/link/work W0:home/me/work" },
	{ "a name by a link that is seen",
	  { { FSVIEW_WRITABLE, "home/link/work" } },
	  "W-1:home/me/work" },
	{ "siblings with a common beginning do not lie in each other",
	  { { FSVIEW_HIDDEN, "home/me" },
	    { FSVIEW_HIDDEN, "home/other" },
	    { FSVIEW_WRITABLE, "tmp" } },
	  "H-1:home/me H-1:home/other W-1:tmp" },
	{ "all of the file system", { { FSVIEW_WRITABLE, "/" } }, "nothing would be read-only" },
	{ "the kernel's", { { FSVIEW_WRITABLE, "/proc/sys" } }, "is the session's own" },
	{ "the state itself",
	  { { FSVIEW_WRITABLE, "state" }, { FSVIEW_SECRET, "state" } },
	  "belongs to the daemon" },
	{ "a workspace that is not there", { { FSVIEW_WRITABLE, "none" } }, "cannot be shown" },
};

static void check_row(size_t i)
{
	struct fsview *v = fsview_new();
	struct err e = { 0 };
	int r = 0;

	for (const struct added *a = rows[i].add; r == 0 && a->path; a++)
		r = fsview_add(v, a->kind, absolute(a->path), &e);
	if (r == 0)
		r = fsview_settle(v, &e);
	if (r < 0 &&
	    (strcmp(e.reason, "CONFINEMENT_UNSUPPORTED") != 0 || !strstr(e.msg, rows[i].want)))
		fail_msg("%s: %s %s", rows[i].name, e.reason, e.msg);
	if (r == 0 && strcmp(show(v), rows[i].want) != 0)
		fail_msg("%s: want: %s got: %s", rows[i].name, rows[i].want, show(v));
	fsview_free(v);
}

static void each_view_is_settled(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_row(i);
}

static void another_directory_stands_at_a_path(void **state _unused_)
{
	struct fsview *v = fsview_new();
	struct err e = { 0 };

	assert_int_equal(fsview_put(v, absolute("tmp"), absolute("state/homes/a/system-tmp"), &e),
			 0);
	assert_int_equal(fsview_put(v, absolute("none"), absolute("tmp"), &e), 0);
	assert_int_equal(fsview_put(v, absolute("tmp"), absolute("none"), &e), -ENOENT);
	assert_int_equal(fsview_settle(v, &e), 0);
	assert_string_equal(show(v), "P-1:tmp");
	assert_string_equal(relative(v->place[0].source), "state/homes/a/system-tmp");
	fsview_free(v);
}

/* What is writable in a draft is the draft's; a draft in what is writable stands there all the same. */
static void a_draft_stands_at_its_path(void **state _unused_)
{
	struct fsview *v = fsview_new();
	struct err e = { 0 };

	assert_int_equal(fsview_add(v, FSVIEW_WRITABLE, absolute("home"), &e), 0);
	assert_int_equal(fsview_over(v, absolute("home/link"), absolute("tmp"), &e), 0);
	assert_int_equal(fsview_add(v, FSVIEW_WRITABLE, absolute("home/me/work"), &e), 0);
	assert_int_equal(fsview_add(v, FSVIEW_WRITABLE, absolute("home/me"), &e), 0);
	assert_int_equal(fsview_over(v, absolute("none"), absolute("tmp"), &e), -ENOENT);
	assert_int_equal(fsview_settle(v, &e), 0);
	assert_string_equal(show(v), "W-1:home D0:home/me");
	assert_string_equal(relative(v->place[1].source), "tmp");
	fsview_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_view_is_settled),
		cmocka_unit_test(another_directory_stands_at_a_path),
		cmocka_unit_test(a_draft_stands_at_its_path),
	};

	return RUN(tests, make_tree, scratch_done);
}
