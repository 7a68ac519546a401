/*
 * usage_ahead.c - writes usage.ahead: prepares the file, composes frames, writes them in place.
 *
 * Its blocks are filled once, so a later write changes no metadata, and RWF_DSYNC (pwritev2(2))
 * costs one flush. O_DIRECT needs aligned memory and lengths, so frames are padded to
 * USAGE_AHEAD_BLOCK. Without the flags, page cache and fdatasync are used. The file gets its name
 * when it is filled. After a failed write no other follows, and the content stays for a restore.
 */
#include "usage/ledger/usage_ahead.h"

#include "base/format/crc32c.h"
#include "base/limits.h"
#include "base/os/file.h"
#include "base/util.h"

#include <limits.h>
#include <sys/random.h>
#include <sys/statvfs.h>
#include <sys/uio.h>

#define FILL_BYTES (16 * KIB)

void usage_ahead_init(struct usage_ahead *a, const char *path)
{
	*a = (struct usage_ahead){ .path = xstrdup(path), .fd = -1 };
}

void usage_ahead_alloc(struct usage_ahead *a)
{
	if (!a->frame)
		a->frame = aligned_alloc(USAGE_AHEAD_BLOCK, USAGE_AHEAD_FRAME_MAX);
	if (!a->frame)
		abort();
}

void usage_ahead_done(struct usage_ahead *a, bool emptied)
{
	if (emptied)
		usage_ahead_rewind(a);
	closep(&a->fd);
	free_each(a->frame, a->path);
}

/* --- the file --------------------------------------------------------------------------------------------- */

/* Past the page cache, where that can be done: the bytes are not read again. */
static int open_direct(const char *path, int flags)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_DIRECT | flags, 0600);

	if (fd < 0 && errno == EINVAL) /* by then it may have been made */
		fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (flags & ~O_EXCL), 0600);
	return fd < 0 ? -errno : fd;
}

static bool drop_direct(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_DIRECT) && fcntl(fd, F_SETFL, flags & ~O_DIRECT) == 0;
}

/* A write; one that must be aligned otherwise than ours goes through the page cache. */
static ssize_t write_at(struct usage_ahead *a, size_t n, off_t at, int flags)
{
	struct iovec v = { a->frame, n };
	ssize_t w;

	do
		w = pwritev2(a->fd, &v, 1, at, flags);
	while (w < 0 && (errno == EINTR || (errno == EINVAL && drop_direct(a->fd))));
	return w;
}

/* Durable when it returns. */
static int write_durably(struct usage_ahead *a, size_t n)
{
	ssize_t w = a->plain ? 0 : write_at(a, n, a->at, RWF_DSYNC);

	/* EOPNOTSUPP: the flag is unknown to the kernel or the file system; ENOSYS: there is no
	 * pwritev2. */
	if (w < 0 && (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL))
		a->plain = true;
	if (a->plain)
		w = pwrite(a->fd, a->frame, n, a->at);
	if (w < 0)
		return -errno;
	/* The blocks exist, so a short write is not for lack of space but an I/O error. */
	if (w != (ssize_t)n)
		return -EIO;
	return a->plain && fdatasync(a->fd) < 0 ? -errno : 0;
}

/* What a daemon before this one has made, whose blocks are all there. */
static int ahead_take_file(struct usage_ahead *a)
{
	struct stat sb;
	int fd = open_direct(a->path, 0);

	if (fd < 0)
		return fd;
	/* st_blocks counts 512 bytes (stat(2)). A sparse copy would make each write allocate blocks. */
	if (fstat(fd, &sb) == 0 && S_ISREG(sb.st_mode) && sb.st_size == (off_t)USAGE_AHEAD_BYTES &&
	    (uint64_t)sb.st_blocks * 512 >= USAGE_AHEAD_BYTES)
		return fd;
	close(fd);
	return -ENOENT;
}

/* In pieces, so that not all of the frame's memory is touched for it. */
static int ahead_fill(struct usage_ahead *a)
{
	memset(a->frame, 0, FILL_BYTES);
	for (off_t at = 0; at < (off_t)USAGE_AHEAD_BYTES; at += (off_t)FILL_BYTES) {
		ssize_t w = write_at(a, FILL_BYTES, at, 0);

		if (w != (ssize_t)FILL_BYTES)
			return w < 0 ? -errno : -ENOSPC;
	}
	return fsync(a->fd) < 0 ? -errno : 0;
}

static bool room_for_it(int fd)
{
	struct statvfs v;

	return fstatvfs(fd, &v) < 0 || (uint64_t)v.f_bavail * v.f_frsize >= USAGE_AHEAD_ROOM_MIN;
}

/* It gets its name when its blocks are there. */
static int ahead_make_file(struct usage_ahead *a)
{
	char path[PATH_MAX];
	int r;

	if (snprintf(path, sizeof(path), "%s.tmp", a->path) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	unlink(path);
	a->fd = open_direct(path, O_CREAT | O_EXCL);
	if (a->fd < 0)
		return a->fd;
	r = room_for_it(a->fd) ? ahead_fill(a) : -ENOSPC;
	if (r == 0 && rename(path, a->path) < 0)
		r = -errno;
	if (r == 0)
		return file_sync_name(a->path);
	unlink(path);
	return r;
}

int usage_ahead_prepare(struct usage_ahead *a)
{
	int r = 0;

	a->at = 0;
	/* Frames of an earlier life that are still in the file have another salt, so none of them continues these. */
	if (getrandom(&a->salt, sizeof(a->salt), 0) != sizeof(a->salt))
		return -EIO;
	a->fd = ahead_take_file(a);
	if (a->fd < 0)
		r = ahead_make_file(a);
	if (r < 0)
		closep(&a->fd);
	return r;
}

/* --- frames ----------------------------------------------------------------------------------------------- */

static size_t context_of(const struct usage_ahead_piece *p)
{
	return (size_t)MIN(p->from, (off_t)USAGE_AHEAD_CONTEXT);
}

size_t usage_ahead_need(const struct usage_ahead_piece *p)
{
	size_t name = strlen(p->name);

	if (!name || name > USAGE_AHEAD_NAME_MAX || p->from <= 0 || p->to < p->from ||
	    p->to - p->from > (off_t)USAGE_AHEAD_FRAME_MAX)
		return 0;
	return sizeof(struct usage_ahead_entry) + name + context_of(p) + (size_t)(p->to - p->from);
}

static size_t whole_blocks(size_t n)
{
	return (n + USAGE_AHEAD_BLOCK - 1) / USAGE_AHEAD_BLOCK * USAGE_AHEAD_BLOCK;
}

bool usage_ahead_fits(const struct usage_ahead *a, size_t need)
{
	size_t n = whole_blocks(sizeof(struct usage_ahead_head) + need);

	return n <= USAGE_AHEAD_FRAME_MAX && a->at + (off_t)n <= (off_t)USAGE_AHEAD_BYTES;
}

static void frame_append(struct usage_ahead *a, const void *p, size_t n)
{
	memcpy(a->frame + a->used, p, n);
	a->used += n;
}

/* Context and bytes come from the file itself: what was appended is in the page cache. */
static int frame_add_piece(struct usage_ahead *a, const struct usage_ahead_piece *p)
{
	size_t n = context_of(p) + (size_t)(p->to - p->from);
	struct usage_ahead_entry e = { (uint64_t)p->from, (uint32_t)(p->to - p->from),
				       (uint16_t)strlen(p->name), (uint16_t)context_of(p) };
	ssize_t got;

	frame_append(a, &e, sizeof(e));
	frame_append(a, p->name, e.name);
	got = RETRY(pread(p->fd, a->frame + a->used, n, p->from - e.context));
	a->used += n;
	return got == (ssize_t)n ? 0 : got < 0 ? -errno : -EIO;
}

static void end_frame(struct usage_ahead *a)
{
	struct usage_ahead_head h = { USAGE_AHEAD_MAGIC, a->salt, ++a->seq, (uint32_t)a->used, 0 };

	memcpy(a->frame, &h, sizeof(h));
	/* Over the head with a crc of 0, which a restore sets to 0 as well before it compares. */
	h.crc = crc32c(0, a->frame, a->used);
	memcpy(a->frame, &h, sizeof(h));
	memset(a->frame + a->used, 0, whole_blocks(a->used) - a->used);
}

int usage_ahead_put(struct usage_ahead *a, const struct usage_ahead_piece *pieces, size_t n)
{
	int r = 0;

	a->used = sizeof(struct usage_ahead_head);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = frame_add_piece(a, &pieces[i]);
	if (r == 0) {
		end_frame(a);
		r = write_durably(a, whole_blocks(a->used));
	}
	if (r < 0)
		closep(&a->fd);
	else
		a->at += (off_t)whole_blocks(a->used);
	return r;
}

/* The first head is no head any more, so a start finds nothing to put back; if that is lost, it finds all in its place. */
void usage_ahead_rewind(struct usage_ahead *a)
{
	if (a->fd < 0 || !a->at)
		return;
	memset(a->frame, 0, USAGE_AHEAD_BLOCK);
	(void)!pwrite(a->fd, a->frame, USAGE_AHEAD_BLOCK, 0);
	a->at = 0;
}
