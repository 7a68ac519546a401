/*
 * take.c - reads one file or link of a living tree, with stat data that provably belong to the
 * content.
 *
 * What is at the name when it is opened counts: a file that became a FIFO does not block us, one that became a link is
 * read as a link. A file that is being written is read again, SNAPSHOT_RETRIES times in all; then the last read counts.
 * An entry is proven, so that the same stat data mean the same contents, only if the file was not touched while it was
 * read, nor so shortly before that the clock of the file system may not have moved on.
 *
 * Stat data from before and after the read are compared; if they differ, the read is repeated.
 * ctime is the reference, because no user can set it. A change within the clock's granularity could
 * leave it equal. So a recent ctime makes the entry unproven, and the next snapshot reads the file
 * again. Races with the agent produce entries, not errors: only a lack of memory or descriptors
 * ends the snapshot.
 */
#include "unpack/snapshot/take.h"

#include "base/clock.h"
#include "base/util.h"

#include <fcntl.h>

#define READ_PIECE (256 * KIB)
#define NS_PER_S 1000000000

int64_t take_ns(struct timespec t)
{
	return (int64_t)time_ns(&t);
}

static int64_t now_ns(void)
{
	return (int64_t)clock_real_ns();
}

void take_stat(struct index_entry *e, const struct stat *sb)
{
	e->mode = sb->st_mode;
	e->size = (uint64_t)sb->st_size;
	e->ino = sb->st_ino;
	e->mtime = take_ns(sb->st_mtim);
	e->ctime = take_ns(sb->st_ctim);
}

static bool same_stat(const struct index_entry *e, const struct stat *sb)
{
	return e->mode == sb->st_mode && e->size == (uint64_t)sb->st_size && e->ino == sb->st_ino &&
	       e->mtime == take_ns(sb->st_mtim) && e->ctime == take_ns(sb->st_ctim);
}

bool take_is_same(const struct index_entry *e, const struct stat *sb)
{
	return e->proven && same_stat(e, sb);
}

/* ctime is the only time that cannot be set back. */
static bool stat_is_settled(const struct stat *sb, int64_t began)
{
	int64_t changed = take_ns(sb->st_ctim);
	int64_t margin = changed % NS_PER_S ? SNAPSHOT_RECENT_MS : SNAPSHOT_RECENT_COARSE_MS;

	return changed < began - margin * NS_PER_MS;
}

struct index_entry take_omitted(enum omit_reason reason, const struct stat *sb)
{
	struct index_entry e = { .type = INDEX_OMITTED, .reason = reason };

	if (!sb)
		return e;
	take_stat(&e, sb);
	/* an unreadable file may become readable without a change of its own */
	e.proven = reason != OMIT_UNREADABLE;
	return e;
}

void take_unstored(struct index_entry *e)
{
	e->type = INDEX_OMITTED;
	e->reason = OMIT_STORE_FULL;
	e->proven = true; /* a full store gets no emptier */
	e->digest = (struct sha256){ { 0 } };
	e->at = e->packed = 0;
}

enum omit_reason take_special(mode_t mode)
{
	return S_ISFIFO(mode) ? OMIT_FIFO : S_ISSOCK(mode) ? OMIT_SOCKET : OMIT_DEVICE;
}

/* --- files -------------------------------------------------------------------------------------------- */

/* -EFBIG beyond max bytes. */
static int take_read_all(int fd, uint64_t size, uint64_t max, struct buf *ret)
{
	buf_reset(ret);
	ret->max = max + READ_PIECE;
	if (buf_reserve(ret, MIN(size, max) + 1) < 0)
		return -ENOMEM;
	for (;;) {
		size_t room;
		ssize_t got;

		if (ret->cap == ret->len && buf_reserve(ret, READ_PIECE) < 0)
			return -ENOMEM;
		room = ret->cap - ret->len;
		got = RETRY(read(fd, ret->data + ret->len, room));
		if (got < 0)
			return -errno;
		ret->len += (size_t)got;
		if (ret->len > max)
			return -EFBIG;
		/* of a file, less than was asked for is its end */
		if ((size_t)got < room && (got == 0 || ret->len == size))
			return 0;
	}
}

int take_open(int fd, const struct stat *sb, uint64_t max, struct buf *ret, struct index_entry *e)
{
	int64_t began = now_ns();
	struct stat after;
	int r;

	if ((uint64_t)sb->st_size > max) {
		*e = take_omitted(OMIT_TOO_LARGE, sb);
		return 0;
	}
	r = take_read_all(fd, (uint64_t)sb->st_size, max, ret);
	if (r == -ENOMEM)
		return r;
	if (fstat(fd, &after) < 0 || (r < 0 && r != -EFBIG)) {
		*e = take_omitted(OMIT_UNREADABLE, sb);
		return 0;
	}
	take_stat(e, &after);
	if (r == -EFBIG || !same_stat(e, sb) || e->size != ret->len)
		return 1;
	e->type = INDEX_FILE;
	e->proven = stat_is_settled(sb, began);
	return 0;
}

int take_fd(int dir, const char *leaf)
{
	/* O_NONBLOCK: there may be a FIFO by now */
	int fd = openat(dir, leaf, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return fd < 0 ? -errno : fd;
}

/* Positive: read it again. */
static int take_read_file(int dir, const char *leaf, uint64_t max, struct buf *ret,
			  struct index_entry *e)
{
	_cleanup_(closep) int fd = take_fd(dir, leaf);
	struct stat sb;

	if (fd < 0)
		return fd == -EPERM ? -EACCES : fd;
	if (fstat(fd, &sb) < 0)
		return -EACCES;
	return S_ISREG(sb.st_mode) ? take_open(fd, &sb, max, ret, e) : 1;
}

/* --- links -------------------------------------------------------------------------------------------- */

static int take_read_link(int dir, const char *leaf, struct buf *ret, struct index_entry *e)
{
	int64_t began = now_ns();
	struct stat sb;
	ssize_t n;

	buf_reset(ret);
	ret->max = PATH_BYTES_MAX + 1;
	if (buf_reserve(ret, PATH_BYTES_MAX + 1) < 0)
		return -ENOMEM;
	n = readlinkat(dir, leaf, ret->data, PATH_BYTES_MAX + 1);
	if (n < 0)
		return errno == EINVAL ? 1 : -errno;
	if (fstatat(dir, leaf, &sb, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISLNK(sb.st_mode) ||
	    n > PATH_BYTES_MAX)
		return 1;
	ret->len = (size_t)n;
	take_stat(e, &sb);
	e->type = INDEX_LINK;
	/* some file systems report no size of a link */
	e->proven = stat_is_settled(&sb, began) && e->size == ret->len;
	e->size = ret->len;
	return 0;
}

/* --- what is there ------------------------------------------------------------------------------------ */

static int take_once(int dir, const char *leaf, const struct stat *sb, uint64_t max,
		     struct buf *ret, struct index_entry *e)
{
	if (S_ISREG(sb->st_mode))
		return take_read_file(dir, leaf, max, ret, e);
	if (S_ISLNK(sb->st_mode))
		return take_read_link(dir, leaf, ret, e);
	if (!S_ISDIR(sb->st_mode))
		*e = take_omitted(take_special(sb->st_mode), sb);
	return 0; /* it is a directory now, and no file any more */
}

static void take_last(const struct stat *sb, uint64_t max, const struct buf *ret,
		      struct index_entry *e)
{
	if (S_ISREG(sb->st_mode) && S_ISREG(e->mode) && ret->len <= max) {
		e->type = INDEX_FILE;
		e->size = ret->len;
		e->proven = false;
	} else {
		*e = take_omitted(OMIT_CHANGING, NULL);
	}
}

static void take_set_digest(const struct buf *content, struct index_entry *e)
{
	if (e->type == INDEX_FILE || e->type == INDEX_LINK)
		sha256_of(buf_slice(content), &e->digest);
}

int take_again(int fd, uint64_t max, struct buf *ret, struct index_entry *e)
{
	struct stat sb;
	int r = 1;

	for (unsigned i = 0; r == 1 && i < SNAPSHOT_RETRIES; i++) {
		*e = (struct index_entry){ .type = INDEX_NONE };
		if (fstat(fd, &sb) < 0 || lseek(fd, 0, SEEK_SET) < 0)
			return -errno;
		r = take_open(fd, &sb, max, ret, e);
	}
	if (r == 1)
		take_last(&sb, max, ret, e);
	take_set_digest(ret, e);
	return MIN(r, 0);
}

int take_content(int dir, const char *leaf, const struct stat *sb, uint64_t max, struct buf *ret,
		 struct index_entry *e)
{
	struct stat now = *sb;
	int r = 1;

	for (unsigned i = 0; r == 1 && i < SNAPSHOT_RETRIES; i++) {
		*e = (struct index_entry){ .type = INDEX_NONE };
		r = i && fstatat(dir, leaf, &now, AT_SYMLINK_NOFOLLOW) < 0 ?
			    -errno :
			    take_once(dir, leaf, &now, max, ret, e);
		if (r == -ELOOP || r == -ENXIO || r == -ENODEV)
			r = 1; /* a link, a socket or a device since */
	}
	if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
		return r;
	if (r == 1)
		take_last(&now, max, ret, e);
	else if (r == -ENOENT || r == -ENOTDIR)
		*e = (struct index_entry){ .type = INDEX_NONE };
	else if (r < 0)
		*e = take_omitted(OMIT_UNREADABLE, &now);
	take_set_digest(ret, e);
	return 0;
}
