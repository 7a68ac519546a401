/*
 * snapshot_dir.c - opens and commits the files of a snapshot directory, with the daemon's rights.
 *
 * The directory belongs to the daemon, the tree to a session: opening and committing is for the process that has the
 * daemon's rights, the work between them for one that has only descriptors. A patch is written where it is wanted, and
 * is there for good once the job was done. One snapshot at a time (a lock on the pack); diffs beside it are harmless.
 *
 * New files have temporary names until the commit. It renames the turn first and the index last:
 * the index is what makes a snapshot exist, and it must never name a turn that is missing. The lock
 * on the pack excludes a second writer; diffs take no lock, since they read only what a complete
 * index names. A baseline removes the old turns only after its index is in place.
 */
#include "unpack/snapshot/snapshot_dir.h"

#include "base/os/file.h"
#include "tree/held_tree.h"

#define TURN_NAME 48
#define LIST "delivered"
#define PINS ".delivered" /* after the name of a turn */
#define LOCK_MS 500

static void turn_name(char name[TURN_NAME], uint32_t turn, const char *end)
{
	snprintf(name, TURN_NAME, "turn-%u%s", turn, end);
}

void snapshot_dir_init(struct snapshot_dir *s)
{
	*s = (struct snapshot_dir){ .dir = -1, .files = { -1, -1, -1, -1, -1, -1, -1, -1 } };
}

static int snapshots_open_dir(struct snapshot_dir *s, const char *dir, struct verdict *v)
{
	s->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return s->dir < 0 ? fail_with(v, -errno, dir, "opening the snapshot directory") : 0;
}

static int open_new(struct snapshot_dir *s, const char *name, int *ret, struct verdict *v)
{
	*ret = openat(s->dir, name, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	return *ret < 0 ? fail_with(v, -errno, name, "making a file of the snapshot") : 0;
}

static int open_patch(struct snapshot_dir *s, const char *patch, struct verdict *v)
{
	if (!patch)
		return 0;
	s->files.patch = open(patch, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (s->files.patch < 0)
		return fail_with(v, -errno, patch, "making the patch");
	s->patch = xstrdup(patch);
	return 0;
}

/* --- a snapshot ----------------------------------------------------------------------------------------- */

static int open_pack(struct snapshot_dir *s, struct verdict *v)
{
	int r;

	s->files.pack = openat(s->dir, "pack", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (s->files.pack < 0)
		return fail_with(v, -errno, "pack", "opening the pack");
	r = held_lock(s->files.pack, LOCK_MS);
	if (r == -EWOULDBLOCK)
		return refuse(v, "STATE_BUSY", NULL, "another snapshot is being taken");
	return r < 0 ? fail_with(v, r, "pack", "locking the pack") : 0;
}

/* 1: there is none, and *ret is -1. */
static int open_old(struct snapshot_dir *s, const char *name, int *ret, const char *what,
		    struct verdict *v)
{
	*ret = openat(s->dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (*ret >= 0)
		return 0;
	return errno == ENOENT ? 1 : fail_with(v, -errno, name, what);
}

static int open_index(struct snapshot_dir *s, struct verdict *v)
{
	return MIN(open_old(s, "index", &s->files.index_old, "opening the index", v), 0);
}

static int snapshots_open_list(struct snapshot_dir *s, struct verdict *v)
{
	return open_old(s, LIST, &s->files.delivered, "opening what was delivered", v);
}

int snapshot_dir_open_snapshot(struct snapshot_dir *s, const char *dir, uint32_t turn,
			       const char *patch, struct verdict *v)
{
	char name[TURN_NAME];
	int r;

	snapshot_dir_init(s);
	s->turn = turn;
	r = file_mkdirs(dir, 0700);
	r = r < 0 ? fail_with(v, r, dir, "making the snapshot directory") :
		    snapshots_open_dir(s, dir, v);
	if (r == 0)
		r = open_pack(s, v);
	if (r == 0)
		r = open_index(s, v);
	if (r == 0 && !turn) /* what is delivered from here on, the walk may miss */
		r = MIN(snapshots_open_list(s, v), 0);
	if (r == 0)
		r = open_new(s, "index.new", &s->files.index_new, v);
	turn_name(name, turn, ".new");
	if (r == 0 && turn)
		r = open_new(s, name, &s->files.turn, v);
	if (r == 0)
		r = open_patch(s, patch, v);
	if (r < 0)
		snapshot_dir_close(s);
	return r;
}

/* --- what was delivered ---------------------------------------------------------------------------------- */

/* Opens the index of the baseline and the turns after it. */
static int open_state(const struct snapshot_dir *s, struct index_reader *ret, struct verdict *v)
{
	int r;

	if (s->files.index_old < 0)
		return refuse(v, "NO_BASELINE", NULL, "no baseline was taken");
	r = index_open(ret, s->files.index_old, INDEX_STATE);
	return r < 0 ? fail_as(v, "STATE_DAMAGED", "index", "the index: %s", strerror(-r)) : 0;
}

/* The last turn of the index. */
static int read_turn(struct snapshot_dir *s, struct verdict *v)
{
	struct index_reader index;
	int r;

	r = open_state(s, &index, v);
	if (r < 0)
		return r;
	s->turn = index.head.turn;
	index_close(&index);
	return 0;
}

/* No state is before a baseline, so after it none has to be pinned. */
static int open_pins(struct snapshot_dir *s, struct verdict *v)
{
	char name[TURN_NAME];

	if (!s->turn)
		return 0;
	turn_name(name, s->turn, PINS);
	if (open_old(s, name, &s->files.pins_old, "opening what was delivered before", v) < 0)
		return -EIO;
	turn_name(name, s->turn, PINS ".new");
	return open_new(s, name, &s->files.pins_new, v);
}

int snapshot_dir_open_fold(struct snapshot_dir *s, const char *dir, struct verdict *v)
{
	int r;

	snapshot_dir_init(s);
	s->fold = true;
	r = snapshots_open_dir(s, dir, v);
	if (r == 0)
		r = snapshots_open_list(s, v);
	if (r == 0)
		r = open_pack(s, v);
	if (r == 0)
		r = open_index(s, v);
	if (r == 0)
		r = read_turn(s, v);
	if (r == 0)
		r = open_pins(s, v);
	if (r == 0)
		r = open_new(s, "index.new", &s->files.index_new, v);
	if (r != 0)
		snapshot_dir_close(s);
	return r;
}

int snapshot_dir_new_list(int dir, int *before, int *fd)
{
	*before = openat(dir, LIST, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	*fd = openat(dir, LIST ".new", O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	return *fd < 0 ? -errno : 0;
}

int snapshot_dir_put_list(int dir)
{
	return renameat(dir, LIST ".new", dir, LIST) < 0 ? -errno : 0;
}

void snapshot_dir_drop_list(int dir)
{
	if (dir >= 0)
		unlinkat(dir, LIST ".new", 0);
}

/* Unless another delivery has put its own in its place, which has taken this one over. */
static void remove_list(struct snapshot_dir *s)
{
	struct stat ours, there;

	if (s->files.delivered < 0 || fstat(s->files.delivered, &ours) < 0 ||
	    fstatat(s->dir, LIST, &there, AT_SYMLINK_NOFOLLOW) < 0 || ours.st_ino != there.st_ino)
		return;
	unlinkat(s->dir, LIST, 0);
}

/* --- a diff --------------------------------------------------------------------------------------------- */

static int snapshots_take_in(struct snapshot_dir *s, const char *end,
			     int (*take)(struct history *h, int fd), struct verdict *v)
{
	char name[TURN_NAME];
	int fd, r;

	turn_name(name, s->history.turn, end);
	fd = openat(s->dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	r = fd < 0 ? -errno : take(&s->history, fd);
	closep(&fd);
	return r < 0 && (r != -ENOENT || !*end) ?
		       fail_as(v, "STATE_DAMAGED", name, "what a turn changed: %s", strerror(-r)) :
		       0;
}

/* What was delivered after a turn counts as older than it. */
static int go_back(struct snapshot_dir *s, struct verdict *v)
{
	int r = snapshots_take_in(s, PINS, history_deliver, v);

	return r < 0 ? r : snapshots_take_in(s, "", history_back, v);
}

static int find_turn(struct snapshot_dir *s, uint32_t since, bool nearest, struct verdict *v)
{
	struct index_reader index;
	int r;

	r = open_state(s, &index, v);
	if (r < 0)
		return r;
	history_init(&s->history, &index.head);
	index_close(&index);
	while (r == 0 && s->history.turn > since)
		r = go_back(s, v);
	if (r == 0 && s->history.turn != since && !nearest)
		return refuse(v, "TURN_UNKNOWN", NULL,
			      "no snapshot was taken at the end of turn %u", since);
	return r;
}

int snapshot_dir_open_diff(struct snapshot_dir *s, const char *dir, uint32_t since, bool nearest,
			   const char *patch, struct verdict *v)
{
	int r;

	snapshot_dir_init(s);
	r = access(dir, F_OK) < 0 && errno == ENOENT ?
		    refuse(v, "NO_BASELINE", NULL, "no baseline was taken") :
		    snapshots_open_dir(s, dir, v);
	if (r == 0)
		r = open_index(s, v);
	if (r == 0)
		r = find_turn(s, since, nearest, v);
	if (r == 0) {
		s->files.pack = openat(s->dir, "pack", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (s->files.pack < 0)
			r = fail_with(v, -errno, "pack", "opening the pack");
	}
	if (r == 0)
		r = open_patch(s, patch, v);
	if (r < 0)
		snapshot_dir_close(s);
	return r;
}

/* --- the end of a job ----------------------------------------------------------------------------------- */

/* Turns of an earlier baseline: nothing leads to them any more. */
static void remove_turns(struct snapshot_dir *s)
{
	_cleanup_(held_list_closep) DIR *d = held_list(s->dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (strncmp(e->d_name, "turn-", 5) == 0)
			unlinkat(s->dir, e->d_name, 0);
}

static int snapshots_put_in_place(struct snapshot_dir *s, int *fd, const char *from, const char *to,
				  struct verdict *v)
{
	if (*fd < 0)
		return 0;
	if (renameat(s->dir, from, s->dir, to) < 0)
		return fail_with(v, -errno, to, "putting a file of the snapshot in place");
	close(TAKE_FD(*fd));
	return 0;
}

/* The index is last: with it the snapshot has been taken. */
int snapshot_dir_commit(struct snapshot_dir *s, struct verdict *v)
{
	char from[TURN_NAME], to[TURN_NAME];
	bool baseline = s->files.index_new >= 0 && s->files.turn < 0 && !s->fold;
	int r;

	turn_name(from, s->turn, s->fold ? PINS ".new" : ".new");
	turn_name(to, s->turn, s->fold ? PINS : "");
	r = snapshots_put_in_place(s, s->fold ? &s->files.pins_new : &s->files.turn, from, to, v);
	if (r == 0)
		r = snapshots_put_in_place(s, &s->files.index_new, "index.new", "index", v);
	if (r < 0)
		return r;
	if (baseline)
		remove_turns(s);
	remove_list(s);
	closep(&s->files.patch);
	return 0;
}

/* After a commit the descriptors of what was renamed are -1, so nothing that counts is removed. */
void snapshot_dir_close(struct snapshot_dir *s)
{
	char name[TURN_NAME];

	turn_name(name, s->turn, s->fold ? PINS ".new" : ".new");
	if (s->files.index_new >= 0)
		unlinkat(s->dir, "index.new", 0);
	if (s->files.turn >= 0 || s->files.pins_new >= 0)
		unlinkat(s->dir, name, 0);
	if (s->files.patch >= 0)
		unlink(s->patch);
	closep(&s->files.pack);
	closep(&s->files.index_old);
	closep(&s->files.index_new);
	closep(&s->files.turn);
	closep(&s->files.patch);
	closep(&s->files.delivered);
	closep(&s->files.pins_old);
	closep(&s->files.pins_new);
	closep(&s->dir);
	history_done(&s->history);
	free(s->patch);
	snapshot_dir_init(s);
}
