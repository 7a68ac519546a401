/*
 * snap_look.c - joins the walk of the tree with the old index, and schedules the reading of files.
 *
 * Every path of either stream is handled once, in order: advance() treats entries that the walk has
 * passed as deleted. Files are opened at once, so that the directory's descriptor is still valid,
 * and read later by ahead.c. Results are used in the order of the walk. So the same tree gives the
 * same pack and index, whatever the number of threads.
 *
 * Files that change while they are read, are large or became another type are read again by the
 * walker itself.
 */
#include "unpack/snapshot/snap_run.h"

#include "base/os/sparse_file.h"
#include "base/os/file.h"
#include "base/util.h"
#include "unpack/snapshot/take.h"

#include <sys/statvfs.h>

static const struct index_entry nothing;

/* --- what the walk met, in its order -------------------------------------------------------------------- */

/* A baseline is waited for, and may be of a large tree: what it keeps is compressed only beyond a size, or where there is
 * little room. What a turn changes is little. */
static uint64_t plain_bytes(const struct snapshot *s)
{
	struct statvfs fs;

	if (s->job->turn || snap_is_diff(s) || fstatvfs(s->files->pack, &fs) < 0)
		return 0;
	return fs.f_bavail * fs.f_frsize < SNAPSHOT_PLAIN_ROOM ? 0 : SNAPSHOT_PLAIN_MAX;
}

/* By the order of the walk alone, so that the same tree gives the same pack. */
static bool is_for_frame(struct snapshot *s, const struct stat *sb)
{
	bool frame = (uint64_t)sb->st_size > s->plain;

	s->plain -= frame ? s->plain : (uint64_t)sb->st_size;
	return frame;
}

static int snap_append(struct snapshot *s, struct ahead_item *i)
{
	struct slice content = buf_slice(s->content);

	if (i->packs && !i->packed.bytes.n)
		return packfile_append(&s->pack, content, &i->now);
	return packfile_append_packed(&s->pack, i->packs ? i->packed.bytes : content, content.n,
				      &i->now);
}

static int snap_store(struct snapshot *s, struct ahead_item *i)
{
	int r = snap_append(s, i);

	if (r == -EFBIG) {
		take_unstored(&i->now);
		return 0;
	}
	return r < 0 ? fail_with(s->v, r, i->path, "writing its contents into the pack") : 0;
}

/* A content that was read; one that the index has is in the pack already. */
static int snap_keep(struct snapshot *s, struct ahead_item *i)
{
	s->held = snap_has_content(&i->now);
	s->report->read += s->held;
	if (!s->held)
		return 0;
	if (snap_has_content(&i->indexed) && sha256_equal(&i->indexed.digest, &i->now.digest)) {
		i->now.at = i->indexed.at;
		i->now.packed = i->indexed.packed;
		return 0;
	}
	if (s->files->index_new >= 0)
		return snap_store(s, i);
	i->now.at = i->now.packed = 0;
	return 0;
}

static int snap_settle(struct snapshot *s, struct ahead_item *i)
{
	bool late = i->state == AHEAD_LATE;
	int r = 0;

	s->content = late ? &s->own : &i->content;
	s->held = false;
	if (late)
		r = take_again(i->fd, s->job->limits.file_bytes, s->content, &i->now);
	if (r < 0)
		return fail_with(s->v, r, i->path, "reading it");
	if (i->was_read)
		r = snap_keep(s, i);
	return r < 0 ? r : snap_decide(s, i->path, &i->was, &i->now);
}

static int settle_first(struct snapshot *s)
{
	int r = snap_settle(s, ahead_first(s->ahead));

	ahead_drop(s->ahead);
	return r;
}

static int settle_all(struct snapshot *s)
{
	int r = 0;

	while (r == 0 && !ahead_empty(s->ahead))
		r = settle_first(s);
	return r;
}

static int snap_make_room(struct snapshot *s, uint64_t bytes)
{
	int r = 0;

	while (r == 0 && !ahead_has_room(s->ahead, bytes))
		r = settle_first(s);
	return r;
}

/* Nothing has to be read for it. */
static int settle_known(struct snapshot *s, const char *path, const struct index_entry *was,
			const struct index_entry *now)
{
	struct ahead_item *i;
	int r;

	if (ahead_empty(s->ahead)) {
		s->content = &s->own;
		s->held = false;
		return snap_decide(s, path, was, now);
	}
	r = snap_make_room(s, 0);
	if (r < 0)
		return r;
	i = ahead_put(s->ahead, path, -1, NULL);
	i->was = *was;
	i->now = *now;
	ahead_go(s->ahead);
	return 0;
}

/* --- the walk ------------------------------------------------------------------------------------------- */

static int settle_next(struct snapshot *s, const char *path, const struct index_entry *now)
{
	char copy[PATH_BYTES_MAX + 1];
	struct index_entry indexed, was;
	int r;

	/* path may be the reader's own */
	memcpy(copy, path, strlen(path) + 1);
	r = snap_take_old(s, copy, &indexed, &was);
	return r < 0 ? r : settle_known(s, copy, &was, now);
}

/* Every entry before path in the order that was not met is gone. NULL: all that are left. */
static int snap_advance(struct snapshot *s, const char *path)
{
	const char *next;
	int r = s->error;

	while (r == 0 && (next = snap_next_path(s)) && (!path || index_compare(next, path) < 0))
		r = settle_next(s, next, &nothing);
	return r;
}

/* What the index says of an entry that is there, and what it was. */
struct snap_known {
	struct index_entry indexed, was;
};

static void put_known(struct snapshot *s, struct ahead_item *i, const struct snap_known *k)
{
	i->packs = is_for_frame(s, &i->sb);
	i->indexed = k->indexed;
	i->was = k->was;
	ahead_go(s->ahead);
}

/* Opened now, read when there is time. 1: what is there has to be looked at by its name. */
static int look_ahead(struct snapshot *s, const struct tree_entry *e, const struct snap_known *k)
{
	_cleanup_(closep) int fd = S_ISREG(e->sb.st_mode) ? take_fd(e->dir, e->leaf) : -1;
	struct stat sb;
	int r;

	if (fd < 0 || fstat(fd, &sb) < 0 || !S_ISREG(sb.st_mode) ||
	    (uint64_t)sb.st_size > s->job->limits.file_bytes)
		return 1;
	r = snap_make_room(s, (uint64_t)sb.st_size);
	if (r == 0)
		put_known(s, ahead_put(s->ahead, e->path, TAKE_FD(fd), &sb), k);
	return r;
}

/* The same for a link, which is read at once. */
static int look_link(struct snapshot *s, const struct tree_entry *e, const struct snap_known *k)
{
	struct index_entry now;
	struct ahead_item *i;
	int r = S_ISLNK(e->sb.st_mode) ? snap_make_room(s, 0) : 1;

	if (r == 0)
		r = take_content(e->dir, e->leaf, &e->sb, PATH_BYTES_MAX, &s->own, &now);
	if (r == 0 && now.type != INDEX_LINK)
		r = 1;
	if (r != 0)
		return r;
	i = ahead_put(s->ahead, e->path, -1, NULL);
	i->now = now;
	i->was_read = true;
	if (buf_add_slice(&i->content, buf_slice(&s->own)) < 0)
		return -ENOMEM;
	put_known(s, i, k);
	return 0;
}

/* By its name, and alone. */
static int snap_look_alone(struct snapshot *s, const struct tree_entry *e,
			   const struct snap_known *k)
{
	struct ahead_item alone = { .path = (char *)e->path,
				    .indexed = k->indexed,
				    .was = k->was,
				    .packs = is_for_frame(s, &e->sb) };
	int r = settle_all(s);

	if (r < 0)
		return r;
	r = take_content(e->dir, e->leaf, &e->sb, s->job->limits.file_bytes, &alone.content,
			 &alone.now);
	alone.was_read = true;
	r = r < 0 ? fail_with(s->v, r, e->path, "reading it") : snap_settle(s, &alone);
	buf_done(&alone.content);
	return r;
}

static int snap_on_visit(void *ctx, const struct tree_entry *e)
{
	struct snapshot *s = ctx;
	struct index_entry now;
	struct snap_known k;
	int r;

	if (S_ISDIR(e->sb.st_mode))
		return 0;
	r = snap_advance(s, e->path);
	if (r == 0)
		r = snap_take_old(s, e->path, &k.indexed, &k.was);
	if (r < 0)
		return r;
	if (take_is_same(&k.indexed, &e->sb))
		return settle_known(s, e->path, &k.was, &k.indexed);
	if (S_ISREG(e->sb.st_mode) &&
	    (uint64_t)e->sb.st_size <= s->job->limits.file_bytes && /* else it is not read */
	    !sparse_afford(&s->extra_left, &e->sb)) {
		now = take_omitted(OMIT_TOO_LARGE, &e->sb);
		return settle_known(s, e->path, &k.was, &now);
	}
	r = look_ahead(s, e, &k);
	if (r == 1)
		r = look_link(s, e, &k);
	return r == 1 ? snap_look_alone(s, e, &k) : r;
}

/* Called once for a directory; entries of the index below it are then unknown, not gone. */
static int snap_on_omit(void *ctx, const char *path, enum omit_reason reason)
{
	struct index_entry unknown = take_omitted(reason, NULL);
	struct snapshot *s = ctx;
	const char *next;
	int r = snap_advance(s, path);

	if (r == 0)
		r = settle_all(s); /* so that all that follows is settled at once */
	if (r == 0 &&
	    strlen(path) > PATH_BYTES_MAX) { /* no index has it: whether it is new is not known */
		omitted_add(&s->report->omitted, path, omit_word(reason));
		snap_note_path(s, path);
	} else if (r == 0)
		r = settle_next(s, path, &unknown);
	s->quiet = true;
	while (r == 0 && (next = snap_next_path(s)) && path_below(next, path))
		r = settle_next(s, next, &unknown);
	s->quiet = false;
	return r;
}

static bool on_known(void *ctx, const char *path)
{
	struct snapshot *s = ctx;
	const char *next;

	if (!s->job->turn && !snap_is_diff(s))
		return false; /* a baseline tracks nothing of before: an extraction's seed has ignored files, too */
	s->error = snap_advance(s, path);
	next = snap_next_path(s);
	return s->error < 0 || (next && path_below(next, path));
}

static int on_ignored(void *ctx, const char *path)
{
	struct index_entry ignored = take_omitted(OMIT_IGNORED, NULL);
	struct snapshot *s = ctx;
	int r = snap_advance(s, path);

	return r < 0 ? r : settle_known(s, path, &nothing, &ignored);
}

int snap_look(struct snapshot *s)
{
	const struct tree_visitor visitor = { snap_on_visit, snap_on_omit, on_known, on_ignored,
					      s };
	const struct tree_walk_options options = {
		.gitignore = s->job->gitignore,
		.without_git = true,
		.for_git = true,
		.entries = s->job->limits.entries,
		.deadline_ms = s->job->limits.deadline_ms,
	};
	int r;

	s->plain = plain_bytes(s);
	r = tree_walk(s->job->root, &options, &visitor, s->v);
	if (r == 0)
		r = snap_advance(s, NULL);
	return r < 0 ? r : settle_all(s);
}
