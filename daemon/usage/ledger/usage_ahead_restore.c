/* usage_ahead_restore.c - what a stop of the machine has taken from the ends of files, put back from usage.ahead. */
#include "usage/ledger/usage_ahead.h"

#include "base/os/file.h"
#include "base/util.h"
#include "base/format/crc32c.h"
#include "base/limits.h"

/* A file that is named in it. */
struct usage_ahead_target {
	char *name;
	int fd; /* -1: it is gone */
	bool restored;
};

struct usage_ahead_reading {
	int fd;
	off_t at;
	uint64_t salt, seq; /* of the frame before; seq 0: there was none */
	char *frame;
	struct usage_ahead_target *targets;
	size_t ntargets;
	int (*open_file)(void *ctx, const char *name);
	void *ctx;
	struct usage_ahead_replay *found;
};

/* A piece in memory. */
struct usage_ahead_part {
	struct usage_ahead_entry e;
	const char *name, *context, *bytes;
};

/* --- frames ----------------------------------------------------------------------------------------------- */

/* The salt tells frames of one preparation from older ones that are still in the file; seq has no gaps. */
static bool frame_follows(const struct usage_ahead_reading *r, const struct usage_ahead_head *h)
{
	return memcmp(h->magic, USAGE_AHEAD_MAGIC, sizeof(h->magic)) == 0 &&
	       h->bytes >= sizeof(*h) && h->bytes <= USAGE_AHEAD_FRAME_MAX && h->seq &&
	       (!r->seq || (h->salt == r->salt && h->seq == r->seq + 1));
}

/* True: the next frame is in memory, and whole. */
static bool next_frame(struct usage_ahead_reading *r, size_t *ret)
{
	struct usage_ahead_head h, zero;

	if (file_read_at(r->fd, &h, sizeof(h), r->at) < 0 || !frame_follows(r, &h) ||
	    file_read_at(r->fd, r->frame, h.bytes, r->at) < 0)
		return false;
	zero = h;
	zero.crc = 0;
	memcpy(r->frame, &zero, sizeof(zero));
	if (crc32c(0, r->frame, h.bytes) != h.crc)
		return false;
	r->salt = h.salt;
	r->seq = h.seq;
	r->at += (off_t)((h.bytes + USAGE_AHEAD_BLOCK - 1) / USAGE_AHEAD_BLOCK * USAGE_AHEAD_BLOCK);
	*ret = h.bytes;
	return true;
}

/* The piece at s, which it is taken from. False: there is no whole one. */
static bool take_part(struct slice *s, struct usage_ahead_part *ret)
{
	size_t n;

	if (s->n < sizeof(ret->e))
		return false;
	memcpy(&ret->e, s->p, sizeof(ret->e));
	n = sizeof(ret->e) + ret->e.name + ret->e.context + ret->e.bytes;
	if (s->n < n || ret->e.name > USAGE_AHEAD_NAME_MAX ||
	    ret->e.context > USAGE_AHEAD_CONTEXT || ret->e.offset < ret->e.context ||
	    ret->e.offset > (uint64_t)INT64_MAX - ret->e.bytes)
		return false;
	ret->name = s->p + sizeof(ret->e);
	ret->context = ret->name + ret->e.name;
	ret->bytes = ret->context + ret->e.context;
	*s = slice_after(*s, n);
	return true;
}

/* --- files ------------------------------------------------------------------------------------------------ */

static struct usage_ahead_target *restore_target(struct usage_ahead_reading *r, struct slice name)
{
	struct usage_ahead_target *t;

	for (size_t i = 0; i < r->ntargets; i++)
		if (slice_is(name, r->targets[i].name))
			return &r->targets[i];
	t = GROW(r->targets, r->ntargets);
	t->name = xstrndup(name.p, name.n);
	t->fd = r->open_file(r->ctx, t->name);
	return t;
}

/* The end of what was written to it: a stopped machine may leave blocks that never got their bytes. -errno. */
static off_t written_end(int fd, off_t not_below)
{
	char block[USAGE_AHEAD_BLOCK];
	struct stat sb;
	off_t end;

	if (fstat(fd, &sb) < 0)
		return -errno;
	for (end = sb.st_size; end > not_below;) {
		size_t n = (size_t)MIN(end - not_below, (off_t)sizeof(block));

		if (file_read_at(fd, block, n, end - (off_t)n) < 0)
			return -EIO;
		while (n && !block[n - 1]) {
			n--;
			end--;
		}
		if (n)
			break;
	}
	return end;
}

static bool file_has_bytes(int fd, off_t at, const char *bytes, size_t n)
{
	char have[USAGE_AHEAD_BLOCK];

	while (n) {
		size_t piece = MIN(n, sizeof(have));

		if (file_read_at(fd, have, piece, at) < 0 || memcmp(have, bytes, piece) != 0)
			return false;
		at += (off_t)piece;
		bytes += piece;
		n -= piece;
	}
	return true;
}

/* From end on, where zeros may stand. */
static int write_rest(int fd, const struct usage_ahead_part *p, off_t end)
{
	size_t have = (size_t)(end - (off_t)p->e.offset), n = p->e.bytes - have;
	ssize_t w;

	if (ftruncate(fd, end) < 0)
		return -errno;
	w = pwrite(fd, p->bytes + have, n, end);
	if (w == (ssize_t)n)
		return 0;
	return w < 0 ? -errno : -ENOSPC;
}

/* It is not there, or is nothing of ours. */
static bool is_file_missing(int error)
{
	return error == -ENOENT || error == -EISDIR || error == -ELOOP || error == -ENXIO;
}

static int restore_part(struct usage_ahead_reading *r, const struct usage_ahead_part *p)
{
	struct usage_ahead_target *t = restore_target(r, (struct slice){ p->name, p->e.name });
	off_t at = (off_t)p->e.offset, end;
	int e;

	if (t->fd < 0)
		return is_file_missing(t->fd) ? 0 : t->fd;
	end = written_end(t->fd, at);
	if (end < 0)
		return (int)end;
	if (end >= at + (off_t)p->e.bytes)
		return 0;
	/* The file does not end in what was written before the piece: it was replaced or damaged, and
	 * is left alone. */
	if (end < at || !file_has_bytes(t->fd, at - p->e.context, p->context, p->e.context) ||
	    !file_has_bytes(t->fd, at, p->bytes, (size_t)(end - at))) {
		r->found->unknown++;
		return 0;
	}
	e = write_rest(t->fd, p, end);
	r->found->restored += e == 0 && !t->restored;
	t->restored |= e == 0;
	return e;
}

static int restore_frame(struct usage_ahead_reading *r, size_t bytes)
{
	struct slice rest = { r->frame + sizeof(struct usage_ahead_head),
			      bytes - sizeof(struct usage_ahead_head) };
	struct usage_ahead_part p;
	int e = 0;

	while (e == 0 && take_part(&rest, &p))
		e = restore_part(r, &p);
	return e;
}

/* Also those that have lost nothing: until now only the frames were durable. */
static int sync_targets(struct usage_ahead_reading *r)
{
	for (size_t i = 0; i < r->ntargets; i++)
		if (r->targets[i].fd >= 0 && fdatasync(r->targets[i].fd) < 0)
			return -errno;
	return 0;
}

static void reading_done(struct usage_ahead_reading *r)
{
	for (size_t i = 0; i < r->ntargets; i++) {
		if (r->targets[i].fd >= 0)
			close(r->targets[i].fd);
		free(r->targets[i].name);
	}
	free_each(r->targets, r->frame);
}

static int restore_all(struct usage_ahead_reading *r)
{
	static const char none[USAGE_AHEAD_BLOCK];
	size_t bytes;
	int e = 0;

	while (e == 0 && next_frame(r, &bytes))
		e = restore_frame(r, bytes);
	if (e == 0)
		e = sync_targets(r);
	/* Last: until then these frames are the only durable copy of the bytes. */
	if (e == 0 && r->seq)
		(void)!pwrite(r->fd, none, sizeof(none), 0);
	return e;
}

/* One that was killed while it was made. */
static void remove_unfinished(const char *path)
{
	_cleanup_(freep) char *tmp = xprintf("%s.tmp", path);

	unlink(tmp);
}

int usage_ahead_restore(const char *path, int (*open_file)(void *ctx, const char *name), void *ctx,
			struct usage_ahead_replay *ret)
{
	_cleanup_(closep) int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	_cleanup_(reading_done) struct usage_ahead_reading r = {
		.fd = fd, .open_file = open_file, .ctx = ctx, .found = ret
	};
	int error = fd < 0 ? -errno : 0;
	struct stat sb;

	*ret = (struct usage_ahead_replay){ 0 };
	remove_unfinished(path);
	if (error)
		return is_file_missing(error) ? 0 : error;
	if (fstat(fd, &sb) < 0 || !S_ISREG(sb.st_mode))
		return 0;
	r.frame = xalloc(USAGE_AHEAD_FRAME_MAX);
	return restore_all(&r);
}
