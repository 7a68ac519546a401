/*
 * harness_install.c - the pinned release of a harness is put below a prefix, all of it or nothing: lock, build,
 * verify, rename.
 *
 * 	PREFIX/.lock                             held while something is installed
 * 	PREFIX/.ID.XXXXXX                        what is being built
 * 	PREFIX/ID/node_modules/PACKAGE/...       the package, as npm lays it out, and what it needs beside it
 * 	PREFIX/ID/bin/COMMAND                    a link to the program in it
 *
 * The hash of the pin decides before anything is at its final place. An existing directory is swapped by
 * RENAME_EXCHANGE and then removed with the build directory. A build directory that exists while the lock is owned
 * was left by a killed install, and is removed. What is installed is readable for all, and only its owner may write
 * it. A harness that is installed and right is left alone. Two installs at a time: the second waits for the first.
 */
#include "cli/harness/harness_install.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "session/parts/programs/programs.h"
#include "tree/held_tree.h"

#include <dirent.h>
#include <sys/file.h>

#define LOCK_ASK_US 50000
#define OTHERS_READ 0644
#define OTHERS_ENTER 0755

/* Between a call and the paths that it needs. */
struct placing {
	struct harness_install *in;
	uint64_t until;
	int lock;
	char *place, *target; /* what is put together, and where it belongs */
	struct err *e;
};

static void placing_done(struct placing *p)
{
	if (p->place)
		file_remove_tree(p->place);
	free_each(p->place, p->target);
	closep(&p->lock);
}

static int no_place(const struct placing *p, const char *path, int r)
{
	err_set(p->e, r, 0, "PREFIX_NOT_WRITABLE", "%s: %s", path, strerror(-r));
	return EXIT_FAILED;
}

/* --- alone ------------------------------------------------------------------------------------------------------------ */

static int take_lock(struct placing *p)
{
	_cleanup_(freep) char *path = file_join(p->in->prefix, ".lock");
	int r = file_mkdirs(p->in->prefix, OTHERS_ENTER);

	if (r < 0)
		return no_place(p, p->in->prefix, r);
	p->lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (p->lock < 0)
		return no_place(p, path, -errno);
	while (flock(p->lock, LOCK_EX | LOCK_NB) < 0) {
		if (clock_mono_ms() >= p->until) {
			err_set(p->e, -EBUSY, 0, "INSTALL_BUSY",
				"%s: another install below %s did not end in time", p->in->pin->id,
				p->in->prefix);
			return EXIT_FAILED;
		}
		usleep(LOCK_ASK_US);
	}
	return EXIT_DONE;
}

/* Nobody else is installing: what looks so was left by one that was killed. */
static void remove_left(const struct placing *p)
{
	_cleanup_(freep) char *left = NULL;
	_cleanup_(closedirp) DIR *d = opendir(p->in->prefix);
	struct dirent *de;
	size_t n;

	left = xprintf(".%s.", p->in->pin->id);
	n = strlen(left);
	while (d && (de = readdir(d))) {
		_cleanup_(freep) char *path = file_join(p->in->prefix, de->d_name);

		if (strncmp(de->d_name, left, n) == 0 && strlen(de->d_name) == n + 6)
			file_remove_tree(path);
	}
}

/* --- put together ----------------------------------------------------------------------------------------------------- */

static int placing_make_dir(struct placing *p)
{
	int r;

	p->place = xprintf("%s/.%s.XXXXXX", p->in->prefix, p->in->pin->id);
	if (mkdtemp(p->place))
		return EXIT_DONE;
	r = -errno;
	free(TAKE_PTR(p->place));
	return no_place(p, p->in->prefix, r);
}

static int link_program(const struct placing *p)
{
	const struct harness_pin *pin = p->in->pin;
	_cleanup_(freep) char *dir = file_join(p->place, "bin"),
			      *path = file_join(dir, p->in->def->command), *to = NULL;

	to = xprintf("../node_modules/%s/%s", pin->package, pin->file);
	if (mkdir(dir, OTHERS_ENTER) < 0 || symlink(to, path) < 0)
		return no_place(p, path, -errno);
	return EXIT_DONE;
}

/* Whatever the archive, npm and the umask say. */
static int open_to_all(void *ctx _unused_, const char *path _unused_, int dir, const char *leaf,
		       const struct stat *sb)
{
	mode_t mode = S_ISDIR(sb->st_mode) || sb->st_mode & S_IXUSR ? OTHERS_ENTER : OTHERS_READ;

	if (!S_ISDIR(sb->st_mode) && !S_ISREG(sb->st_mode))
		return 0;
	return fchmodat(dir, leaf, mode, 0) < 0 ? -errno : 0;
}

static int set_modes(const struct placing *p)
{
	_cleanup_(closep) int dir = open(p->place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = dir < 0 ? -errno : held_walk(dir, open_to_all, NULL);

	if (r == 0 && fchmod(dir, OTHERS_ENTER) < 0)
		r = -errno;
	return r < 0 ? no_place(p, p->place, r) : EXIT_DONE;
}

/* The program of a package needs no bit in the archive. */
static int make_executable(const struct placing *p)
{
	_cleanup_(freep) char *path =
		xprintf("%s/node_modules/%s/%s", p->place, p->in->pin->package, p->in->pin->file);

	return chmod(path, OTHERS_ENTER) < 0 ? no_place(p, path, -errno) : EXIT_DONE;
}

static int verify_program(const struct placing *p, const char *where)
{
	_cleanup_(freep) char *path = NULL;
	int r;

	path = xprintf("%s/bin/%s", where, p->in->def->command);
	r = program_verify(path, p->in->pin, p->e);
	if (r == 0)
		return EXIT_DONE;
	return r == -EBADMSG ? EXIT_REFUSED : EXIT_FAILED;
}

/* --- and in its place ------------------------------------------------------------------------------------------------- */

/* What was there goes with the place where this was put together. */
static int placing_swap(struct placing *p)
{
	if (rename(p->place, p->target) == 0) {
		free(TAKE_PTR(p->place));
		return EXIT_DONE;
	}
	if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR)
		return no_place(p, p->target, -errno);
	if (renameat2(AT_FDCWD, p->place, AT_FDCWD, p->target, RENAME_EXCHANGE) < 0)
		return no_place(p, p->target, -errno);
	return EXIT_DONE;
}

static int placing_put(struct placing *p)
{
	int code = placing_make_dir(p);

	if (code == EXIT_DONE && p->in->from)
		code = install_from_file(p->in, p->place, p->e);
	else if (code == EXIT_DONE)
		code = install_from_npm(p->in, p->place, p->until, p->e);
	if (code == EXIT_DONE)
		code = link_program(p);
	if (code == EXIT_DONE)
		code = verify_program(p, p->place);
	if (code == EXIT_DONE)
		code = set_modes(p);
	/* After set_modes, which derives modes from S_IXUSR: an archive may lack that bit. */
	if (code == EXIT_DONE)
		code = make_executable(p);
	return code == EXIT_DONE ? placing_swap(p) : code;
}

int harness_install(struct harness_install *in, struct err *e)
{
	_cleanup_(placing_done) struct placing p = { .in = in, .lock = -1, .e = e };
	int code;

	p.until = clock_mono_ms() + in->timeout_ms;
	p.target = file_join(in->prefix, in->pin->id);
	umask(022);
	code = take_lock(&p);
	if (code != EXIT_DONE)
		return code;
	in->already = verify_program(&p, p.target) == EXIT_DONE;
	if (in->already)
		return EXIT_DONE;
	memset(e, 0, sizeof(*e));
	remove_left(&p);
	return placing_put(&p);
}
