/*
 * ledger_files.c - opens the files of a ledger as one consistent set, next to a daemon that closes
 * and removes files.
 *
 * The directory is listed before and after the files are opened: if the newest closed file differs,
 * the daemon closed one in between, and the attempt is repeated. usage.state is read last: a file
 * before its mark can still be there, but none after it is missing. Only the last file can end in a
 * line that is being written, so only there the check waits for its end.
 */
#include "usage/ledger/ledger_file.h"

#include "base/util.h"
#include "base/os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define VERIFY_PATIENCE_MS 1000
/* A daemon would have to close a file within each of them. */
#define LIST_TRIES 20

/* --- opening ---------------------------------------------------------------------------------------------- */

static int add(struct ledger_files *f, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	*GROW(f->part, f->n) = (struct ledger_part){ fd, xstrdup(path) };
	return 0;
}

static void drop_from(struct ledger_files *f, size_t n)
{
	while (f->n > n) {
		f->n--;
		close(f->part[f->n].fd);
		free(f->part[f->n].path);
	}
}

void ledger_files_done(struct ledger_files *f)
{
	drop_from(f, 0);
	free(f->part);
	*f = (struct ledger_files){ 0 };
}

static uint64_t newest(const struct ledger_set *s)
{
	return s->n ? s->closed[s->n - 1].first : 0;
}

/* -EAGAIN: the daemon has closed or removed a file meanwhile. */
static int try_set(struct ledger_files *f, struct ledger_set *s)
{
	_cleanup_(freep) char *current = ledger_set_path(s, 0);
	int r = ledger_set_list(s);
	uint64_t before = newest(s);

	for (size_t i = 0; r == 0 && i < s->n; i++) {
		_cleanup_(freep) char *path = ledger_set_path(s, s->closed[i].first);

		r = add(f, path);
		r = r == -ENOENT ? -EAGAIN : r;
	}
	if (r < 0)
		return r;
	r = add(f, current);
	if (r == -ENOENT && !s->n)
		return -EISDIR;
	if (r < 0 && r != -ENOENT) /* killed while it closed one: the next start makes a new one */
		return r;
	r = ledger_set_list(s);
	return r == 0 && newest(s) != before ? -EAGAIN : r;
}

/* Read after the files: a file before the mark may still be there, and none after it is missing. */
static void load_removed(struct ledger_files *f, const struct ledger_set *s)
{
	_cleanup_(freep) char *path = ledger_set_beside(s, ".state");
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct ledger_state state;

	if (fd >= 0 && ledger_state_load(fd, &state) == 0)
		f->removed = state.removed;
}

static int add_set(struct ledger_files *f, const char *dir)
{
	_cleanup_(freep) char *path = file_join(dir, "usage.jsonl");
	struct ledger_set s;
	size_t n = f->n;
	int r = -EAGAIN;

	ledger_set_init(&s, path);
	for (unsigned i = 0; r == -EAGAIN && i < LIST_TRIES; i++) {
		drop_from(f, n);
		r = try_set(f, &s);
	}
	if (r == 0)
		load_removed(f, &s);
	ledger_set_done(&s);
	return r;
}

static bool is_dir(const char *path)
{
	struct stat sb;

	return stat(path, &sb) == 0 && S_ISDIR(sb.st_mode);
}

int ledger_files_open(struct ledger_files *ret, const char *paths, struct err *e)
{
	int r = 0;

	*ret = (struct ledger_files){ 0 };
	while (r == 0 && *paths) {
		size_t n = strcspn(paths, "\n");
		_cleanup_(freep) char *path = xstrndup(paths, n);

		r = is_dir(path) ? add_set(ret, path) : add(ret, path);
		if (r < 0)
			err_set(e, r, 0, "LEDGER", "%s: %s", path,
				r == -EISDIR ? "there is no usage ledger in it" : strerror(-r));
		paths += n + (paths[n] == '\n');
	}
	if (r < 0)
		ledger_files_done(ret);
	return r;
}

/* --- reading ---------------------------------------------------------------------------------------------- */

int ledger_files_read(const struct ledger_files *f, uint64_t since,
		      bool (*fn)(void *ctx, uint64_t n, struct slice line), void *ctx,
		      uint64_t *skipped, struct err *e)
{
	*skipped = 0;
	for (size_t i = 0; i < f->n; i++) {
		uint64_t n = 0;
		int r = ledgerfile_read(f->part[i].fd, 0, since, fn, ctx, &n);

		*skipped += n;
		if (r < 0)
			return err_set(e, r, 0, "LEDGER", "%s: %s", f->part[i].path, strerror(-r));
	}
	return 0;
}

int ledger_files_verify(const struct ledger_files *f, const struct ledger_anchor *anchor,
			struct ledger_report *ret, struct err *e)
{
	struct ledger_check *c = ledger_check_new(anchor, false, ret);
	size_t i = 0;
	int r = 0;

	ledger_check_removed(c, &f->removed);
	for (; r == 0 && !ret->first_bad && i < f->n; i++)
		r = ledger_check_fd(c, f->part[i].fd, i + 1 == f->n ? VERIFY_PATIENCE_MS : 0);
	if (r < 0)
		err_set(e, r, 0, "LEDGER", "%s: %s", f->part[i - 1].path, strerror(-r));
	else
		ledger_check_end(c);
	ledger_check_free(c);
	return r;
}

int ledger_verify(const char *path, const struct ledger_anchor *anchor, struct ledger_report *ret,
		  struct err *e)
{
	struct ledger_files f;
	int r = ledger_files_open(&f, path, e);

	if (r == 0) {
		r = ledger_files_verify(&f, anchor, ret, e);
		ledger_files_done(&f);
	}
	return r;
}
