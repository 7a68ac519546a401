/*
 * ledger_set.c - names of a ledger's files, the list of closed files, and usage.state.
 *
 * A closed file is named after its first record, so the list needs no index. Other names and
 * anything but regular files are ignored. usage.state is overwritten in place with one pwrite(2) of
 * LEDGER_STATE_SIZE bytes, padded with spaces: a full disk has no space for a new file. Another
 * size is damage; an empty file is a state of zeros.
 */
#include "usage/ledger/ledger_file.h"

#include "base/format/digits.h"
#include "base/os/file.h"
#include "base/util.h"
#include "json/json.h"

#include <dirent.h>

#define SUFFIX ".jsonl"
#define DIGITS 19

/* --- names ------------------------------------------------------------------------------------------------ */

void ledger_set_init(struct ledger_set *s, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t n = strlen(name), suffix = strlen(SUFFIX);

	*s = (struct ledger_set){ 0 };
	/* The MAX is for "/name", whose directory is "/". */
	s->dir = slash ? xstrndup(path, MAX((size_t)(slash - path), 1u)) : xstrdup(".");
	if (n > suffix && strcmp(name + n - suffix, SUFFIX) == 0)
		n -= suffix;
	s->stem = xstrndup(name, n);
}

void ledger_set_done(struct ledger_set *s)
{
	free_each(s->dir, s->stem, s->closed);
	*s = (struct ledger_set){ 0 };
}

char *ledger_set_beside(const struct ledger_set *s, const char *suffix)
{
	return xprintf("%s/%s%s", s->dir, s->stem, suffix);
}

char *ledger_set_path(const struct ledger_set *s, uint64_t first)
{
	if (!first)
		return ledger_set_beside(s, SUFFIX);
	return ledger_set_beside(s, SHORT_TEXT(64, "-%0*llu" SUFFIX, DIGITS,
					       (unsigned long long)first));
}

/* The number in a closed file's name; 0: it is none. */
static uint64_t closed_number(const struct ledger_set *s, const char *name)
{
	struct slice rest = slice_of(name);
	uint64_t n = 0;

	if (!slice_skip(&rest, s->stem) || !slice_skip(&rest, "-") ||
	    rest.n != DIGITS + strlen(SUFFIX) || strcmp(rest.p + DIGITS, SUFFIX) != 0)
		return 0;
	u64_parse((struct slice){ rest.p, DIGITS }, &n);
	return n;
}

/* --- what is closed --------------------------------------------------------------------------------------- */

void ledger_set_add(struct ledger_set *s, const struct ledger_closed *c)
{
	*GROW(s->closed, s->n) = *c;
}

void ledger_set_shift(struct ledger_set *s)
{
	s->n--;
	memmove(s->closed, s->closed + 1, s->n * sizeof(*s->closed));
}

static int by_first(const void *pa, const void *pb)
{
	const struct ledger_closed *a = pa, *b = pb;

	return a->first < b->first ? -1 : a->first > b->first;
}

int ledger_set_list(struct ledger_set *s)
{
	DIR *d = opendir(s->dir);
	struct dirent *e;
	struct stat sb;

	if (!d)
		return -errno;
	s->n = 0;
	free(TAKE_PTR(s->closed));
	while ((e = readdir(d))) {
		struct ledger_closed c = { .first = closed_number(s, e->d_name) };

		if (!c.first || fstatat(dirfd(d), e->d_name, &sb, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(sb.st_mode))
			continue;
		c.size = sb.st_size;
		/* The last write is the last record: a closed file does not change any more. */
		c.ended_ms =
			(uint64_t)sb.st_mtim.tv_sec * 1000 + (uint64_t)sb.st_mtim.tv_nsec / 1000000;
		ledger_set_add(s, &c);
	}
	closedir(d);
	if (s->n)
		qsort(s->closed, s->n, sizeof(*s->closed), by_first);
	return 0;
}

/* --- the state -------------------------------------------------------------------------------------------- */

static bool state_take_number(struct slice line, const char *key, uint64_t *ret)
{
	int64_t n;

	if (jdec_int(jobj_get(line, key), &n) < 0 || n < 0)
		return false;
	*ret = (uint64_t)n;
	return true;
}

static bool ledger_state_take(struct slice line, struct ledger_state *ret)
{
	_cleanup_(freep) char *removed = NULL;
	struct jval v = jobj_get(line, "removed");
	uint64_t version;

	if (!state_take_number(line, "v", &version) || version != 1 ||
	    !state_take_number(line, "read", &ret->read) ||
	    !state_take_number(line, "handed", &ret->handed))
		return false;
	if (v.type == J_NONE)
		return true;
	return jstr_decode(v, 128, &removed) == 0 && ledger_anchor_parse(removed, &ret->removed);
}

int ledger_state_load(int fd, struct ledger_state *ret)
{
	char text[LEDGER_STATE_SIZE + 1];
	ssize_t n = pread(fd, text, sizeof(text), 0);

	*ret = (struct ledger_state){ 0 };
	if (n <= 0)
		return n < 0 ? -errno : 0;
	if (n == LEDGER_STATE_SIZE && text[n - 1] == '\n' &&
	    jscan_object((struct slice){ text, (size_t)n - 1 }, NULL, 0) == JSCAN_OK &&
	    ledger_state_take((struct slice){ text, (size_t)n - 1 }, ret))
		return 0;
	*ret = (struct ledger_state){ 0 };
	/* Nothing of a half-parsed state counts, since it decides what may be deleted. */
	return -EBADMSG;
}

int ledger_state_store(int fd, const struct ledger_state *s)
{
	JW_BUF(w, b);
	ssize_t n;

	jw_obj(&w, NULL);
	jw_uint(&w, "v", 1);
	jw_uint(&w, "read", s->read);
	jw_uint(&w, "handed", s->handed);
	if (s->removed.n)
		jw_str(&w, "removed",
		       SHORT_TEXT(96, "%llu:%s", (unsigned long long)s->removed.n,
				  s->removed.digest));
	jw_end_obj(&w);
	while (buf_len(&b) < LEDGER_STATE_SIZE - 1 && !b.failed)
		buf_putc(&b, ' ');
	buf_putc(&b, '\n');
	if (b.failed)
		return -ENOMEM;
	/* One call of less than a block: a reader or a kill does not meet half of it. */
	n = pwrite(fd, b.data, LEDGER_STATE_SIZE, 0);
	return n == LEDGER_STATE_SIZE ? 0 : n < 0 ? -errno : -ENOSPC;
}

/* --- opening ---------------------------------------------------------------------------------------------- */

/*
 * Opens the files of a ledger as one consistent set, next to a daemon that closes
 * and removes files.
 *
 * The directory is listed before and after the files are opened: if the newest closed file differs,
 * the daemon closed one in between, and the attempt is repeated. usage.state is read last: a file
 * before its mark can still be there, but none after it is missing. Only the last file can end in a
 * line that is being written, so only there the check waits for its end.
 */
#define VERIFY_PATIENCE_MS 1000
/* A daemon would have to close a file within each of them. */
#define LIST_TRIES 20

static int ledger_files_add(struct ledger_files *f, const char *path)
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

static uint64_t newest_closed(const struct ledger_set *s)
{
	return s->n ? s->closed[s->n - 1].first : 0;
}

/* -EAGAIN: the daemon has closed or removed a file meanwhile. */
static int try_set(struct ledger_files *f, struct ledger_set *s)
{
	_cleanup_(freep) char *current = ledger_set_path(s, 0);
	int r = ledger_set_list(s);
	uint64_t before = newest_closed(s);

	for (size_t i = 0; r == 0 && i < s->n; i++) {
		_cleanup_(freep) char *path = ledger_set_path(s, s->closed[i].first);

		r = ledger_files_add(f, path);
		r = r == -ENOENT ? -EAGAIN : r;
	}
	if (r < 0)
		return r;
	r = ledger_files_add(f, current);
	/* Neither a file that is written to nor a closed one: it is not the directory of a ledger. */
	if (r == -ENOENT && !s->n)
		return -EISDIR;
	if (r < 0 && r != -ENOENT) /* killed while it closed one: the next start makes a new one */
		return r;
	/* The list again: a file that was closed in between is missing from those that were opened. */
	r = ledger_set_list(s);
	return r == 0 && newest_closed(s) != before ? -EAGAIN : r;
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

static bool path_is_dir(const char *path)
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

		r = path_is_dir(path) ? add_set(ret, path) : ledger_files_add(ret, path);
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
