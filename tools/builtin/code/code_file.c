/*
 * code_file.c - creates the file that runCode executes, and decides whether its text is an ES
 * module.
 *
 * The decision is made line by line: an import or export at the start of a line, a top-level await,
 * or import.meta. In a work tree one line of .git/info/exclude hides these files from git. The tree
 * belongs to the agent, so exclude must be a regular file, opened without following a link. A
 * failure to hide the file is ignored, because it is removed anyway.
 */
#include "tools/builtin/code/run_code.h"

#include "base/os/file.h"
#include "base/limits.h"
#include "base/util.h"
#include "tools/builtin/core/toolbox.h"

#define EXCLUDED CODE_HIDDEN "*\n"

/* --- what kind of module -------------------------------------------------------------------------------- */

static bool holds(struct slice s, const char *needle)
{
	return s.n && memmem(s.p, s.n, needle, strlen(needle));
}

static bool line_is_module(struct slice line)
{
	static const char *const begins[] = { "import ", "import{", "import\"", "import'",
					      "import*", "export ", "export{",	"export*" };
	struct slice s = line;

	while (slice_skip(&s, " ") || slice_skip(&s, "\t"))
		;
	for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
		if (slice_starts(s, begins[i]))
			return !holds(s, "= require(");
	if (s.n == line.n && holds(s, "await ") && !holds(s, "async"))
		return true;
	return holds(s, "import.meta");
}

bool code_is_module(struct slice text)
{
	struct slice line;

	while (text.n && slice_item(&text, '\n', &line))
		if (line_is_module(line))
			return true;
	return false;
}

/* --- git ------------------------------------------------------------------------------------------------ */

/* Adds our line once; does nothing if exclude is no regular file. */
static void exclude(const char *git)
{
	_cleanup_(freep) char *info = file_join(git, "info"), *path = file_join(info, "exclude");
	_cleanup_(buf_done) struct buf text = { 0 };
	_cleanup_(closep) int fd = -1;
	struct stat st;
	bool torn;

	if (mkdir(info, 0777) < 0 && errno != EEXIST)
		return;
	/* The tree is the agent's: O_NOFOLLOW refuses a link, and O_NONBLOCK does not wait for the
	 * other end of a FIFO. */
	fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    file_read_fd(fd, MIB, &text) < 0 || holds(buf_slice(&text), EXCLUDED))
		return;
	torn = text.len && text.data[text.len - 1] != '\n';
	if (file_write_all(fd, torn ? "\n" EXCLUDED : EXCLUDED, strlen(EXCLUDED) + torn) < 0)
		errno = 0; /* only for tidiness: the file is removed in any case */
}

static bool is_root(const struct toolbox *b, const char *dir)
{
	for (char **root = toolbox_config(b)->roots; root && *root; root++)
		if (strcmp(*root, dir) == 0)
			return true;
	return strcmp(dir, "/") == 0;
}

/* The nearest repository, up to the root that dir is in: what lies above is not ours. */
static void exclude_from(const struct toolbox *b, const char *dir)
{
	_cleanup_(freep) char *at = xstrdup(dir);
	struct stat st;

	for (;;) {
		_cleanup_(freep) char *git = file_join(at, ".git");
		char *slash = strrchr(at, '/');

		if (lstat(git, &st) == 0) {
			/* A file of this name refers to a directory elsewhere, which is not
			 * followed. */
			if (S_ISDIR(st.st_mode))
				exclude(git);
			return;
		}
		if (is_root(b, at) || !slash || slash == at)
			return;
		*slash = '\0';
	}
}

/* --- the file ------------------------------------------------------------------------------------------- */

int code_file_write(const struct toolbox *b, const char *dir, const char *suffix, struct slice text,
		    char **ret)
{
	_cleanup_(closep) int fd = -1;
	_cleanup_(freep) char *path = NULL;
	int r;

	path = xprintf("%s/%sXXXXXX%s", dir ? dir : toolbox_state_dir(b),
		       dir ? CODE_HIDDEN : CODE_HIDDEN + 1, suffix);
	fd = mkostemps(path, (int)strlen(suffix), O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (dir)
		exclude_from(b, dir);
	r = file_write_all(fd, text.p, text.n);
	if (r < 0)
		unlink(path);
	else
		*ret = TAKE_PTR(path);
	return r;
}
