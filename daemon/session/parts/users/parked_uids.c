/*
 * parked_uids.c - records of closed sessions that gave up their uid, and the shutting of their
 * directories.
 *
 * A group's file is written with "moving" before the first directory changes, and rewritten or
 * removed after the last. A crash in between is repaired at the start: read_group shuts every group
 * that is moving, before any uid is given out. Directories are opened with O_NOFOLLOW and compared
 * by inode, as a path can be replaced.
 */
#include "session/parts/users/parked_uids.h"

#include "base/util.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/os/file.h"

#include <dirent.h>

#define SHUT_MODE 0700

struct parked_uids {
	char *dir;
	struct list groups;
	unsigned long long last;
};

/* --- groups in memory -------------------------------------------------------------------------------------- */

static struct parked_group *group_new(struct parked_uids *p, unsigned long long no)
{
	struct parked_group *g = new0(struct parked_group);

	g->no = no;
	/* Until its record says otherwise: without that line its doors can be open. */
	g->moving = true;
	p->last = MAX(p->last, no);
	list_add_tail(&p->groups, &g->link);
	return g;
}

struct parked_group *parked_new(struct parked_uids *p)
{
	struct parked_group *g = group_new(p, p->last + 1);

	g->planned = true;
	return g;
}

static void group_free(struct parked_group *g)
{
	list_del(&g->link);
	for (size_t i = 0; i < g->nholders; i++)
		free(g->holders[i]);
	for (size_t i = 0; i < g->ntrees; i++)
		free(g->trees[i].path);
	free_each(g->holders, g->trees, g->uids, g);
}

void parked_add_uid(struct parked_group *g, uid_t uid)
{
	for (size_t i = 0; i < g->nuids; i++)
		if (g->uids[i] == uid)
			return;
	*GROW(g->uids, g->nuids) = uid;
}

void parked_add_holder(struct parked_group *g, const char *holder)
{
	*GROW(g->holders, g->nholders) = xstrdup(holder);
}

static bool has_uid(const struct parked_group *g, uid_t uid)
{
	for (size_t i = 0; i < g->nuids; i++)
		if (g->uids[i] == uid)
			return true;
	return false;
}

/* --- doors -------------------------------------------------------------------------------------------------- */

/* -ENOENT: it is gone, or another directory is in its place. */
static int open_top(const struct parked_tree *t, struct stat *sb)
{
	_cleanup_(closep) int fd =
		open(t->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return errno == ENOTDIR || errno == ELOOP ? -ENOENT : -errno;
	if (fstat(fd, sb) < 0)
		return -errno;
	/* a state directory may have been copied */
	return t->ino && t->kind != PARKED_OURS && sb->st_ino != t->ino ? -ENOENT : TAKE_FD(fd);
}

static bool has_tree(const struct parked_group *g, const char *path)
{
	for (size_t i = 0; i < g->ntrees; i++)
		if (strcmp(g->trees[i].path, path) == 0)
			return true;
	return false;
}

int parked_add_tree(struct parked_group *g, int kind, const char *path)
{
	struct parked_tree t = { .kind = kind, .path = (char *)path };
	_cleanup_(closep) int fd = -1;
	struct stat sb;

	if (strchr(path, '\n'))
		return -EINVAL;
	if (has_tree(g, path))
		return 0;
	fd = open_top(&t, &sb);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	*GROW(g->trees, g->ntrees) = (struct parked_tree){ kind,      sb.st_mode & 07777,
							   sb.st_uid, sb.st_gid,
							   sb.st_ino, xstrdup(path) };
	return 0;
}

static int shut_tree(const struct parked_group *g _unused_, const struct parked_tree *t,
		     uid_t uid _unused_)
{
	struct stat sb;
	_cleanup_(closep) int fd = open_top(t, &sb);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	/* The owner first: afterwards the uid cannot change the mode back. */
	return fchown(fd, 0, 0) < 0 || fchmod(fd, SHUT_MODE) < 0 ? -errno : 0;
}

/* Only what is shut, as we left it. */
static int unshut_tree(const struct parked_group *g, const struct parked_tree *t, uid_t uid)
{
	struct stat sb;
	_cleanup_(closep) int fd = open_top(t, &sb);

	if (fd == -ENOENT || (fd >= 0 && (sb.st_uid != 0 || (sb.st_mode & 07777) != SHUT_MODE)))
		return 0;
	if (fd < 0)
		return fd;
	return fchown(fd, has_uid(g, t->uid) ? uid : t->uid,
		      has_uid(g, (uid_t)t->gid) ? (gid_t)uid : t->gid) < 0 ||
			       fchmod(fd, t->mode) < 0 ?
		       -errno :
		       0;
}

/* Goes on after a failure: each door counts, whatever became of the others. Returns the first error. */
static int move_trees(const struct parked_group *g, uid_t uid,
		      int (*move)(const struct parked_group *g, const struct parked_tree *t,
				  uid_t uid))
{
	int ret = 0;

	for (size_t i = 0; i < g->ntrees; i++) {
		int r = g->trees[i].kind == PARKED_FOREIGN ? 0 : move(g, &g->trees[i], uid);

		ret = ret ? ret : r;
	}
	return ret;
}

int parked_shut(const struct parked_group *g)
{
	return move_trees(g, 0, shut_tree);
}

/* Owners that were a uid of the group become the new one; others get back what they had. */
int parked_unshut(const struct parked_group *g, uid_t uid)
{
	return move_trees(g, uid, unshut_tree);
}

/* --- files --------------------------------------------------------------------------------------------------- */

static char *group_path(const struct parked_uids *p, const struct parked_group *g)
{
	return xprintf("%s/%llu", p->dir, g->no);
}

/* Lines of text. The path is last, as it can hold spaces; parked_add_tree refuses newlines. */
int parked_write(const struct parked_uids *p, struct parked_group *g, bool moving, struct err *e)
{
	_cleanup_(freep) char *path = group_path(p, g);
	_cleanup_(buf_done) struct buf b = { 0 };
	int r;

	buf_puts(&b, moving ? "moving\n" : "parked\n");
	for (size_t i = 0; i < g->nuids; i++)
		buf_printf(&b, "uid %u\n", (unsigned)g->uids[i]);
	for (size_t i = 0; i < g->nholders; i++)
		buf_printf(&b, "holder %s\n", g->holders[i]);
	for (size_t i = 0; i < g->ntrees; i++) {
		const struct parked_tree *t = &g->trees[i];

		buf_printf(&b, "tree %c %o %u %u %llu %s\n", t->kind, (unsigned)t->mode,
			   (unsigned)t->uid, (unsigned)t->gid, (unsigned long long)t->ino, t->path);
	}
	r = file_mkdirs(p->dir, 0700);
	if (r == 0)
		r = file_replace(path, b.data, b.len, 0600);
	if (r == 0) {
		g->moving = moving;
		g->planned = false;
		return 0;
	}
	return err_set(e, r, RPC_INTERNAL_ERROR,
		       r == -ENOSPC || r == -EDQUOT ? "NO_SPACE" : "STATE_NOT_WRITABLE",
		       "cannot record that a session's uid is given back: %s", strerror(-r));
}

/* Skips a line that it cannot parse, and paths that are not absolute. */
static void read_tree(struct parked_group *g, const char *line)
{
	struct parked_tree t = { 0 };
	unsigned mode, uid, gid;
	unsigned long long ino;
	char kind;
	int at = 0;

	if (sscanf(line, "%c %o %u %u %llu %n", &kind, &mode, &uid, &gid, &ino, &at) != 5 || !at ||
	    !strchr("ocf", kind) || line[at] != '/')
		return;
	t.kind = (unsigned char)kind;
	t.mode = mode & 07777;
	t.uid = uid;
	t.gid = gid;
	t.ino = ino;
	t.path = xstrdup(line + at);
	*GROW(g->trees, g->ntrees) = t;
}

static void read_line(struct parked_group *g, const char *line)
{
	if (strcmp(line, "parked") == 0)
		g->moving = false;
	else if (strncmp(line, "uid ", 4) == 0)
		parked_add_uid(g, (uid_t)strtoul(line + 4, NULL, 10));
	else if (strncmp(line, "holder ", 7) == 0)
		parked_add_holder(g, line + 7);
	else if (strncmp(line, "tree ", 5) == 0)
		read_tree(g, line + 5);
}

/* Other names are skipped: numbers are from 1. */
static int read_group(struct parked_uids *p, const char *name)
{
	_cleanup_(freep) char *path = file_join(p->dir, name);
	_cleanup_(buf_done) struct buf b = { 0 };
	unsigned long long no;
	struct parked_group *g;
	char *end, *rest;
	int r;

	no = strtoull(name, &end, 10);
	if (end == name || *end || !no)
		return 0;
	/* The daemon's own file: only the buffer limits it, as in parked_write. */
	r = file_read(path, SIZE_MAX, &b);
	if (r < 0)
		return r;
	buf_putc(&b, '\0');
	g = group_new(p, no);
	rest = b.data;
	while (rest && *rest)
		read_line(g, strsep(&rest, "\n"));
	return g->moving ? parked_shut(g) : 0;
}

/* --- finding -------------------------------------------------------------------------------------------------- */

static bool is_holder(const struct parked_group *g, const char *holder)
{
	for (size_t i = 0; i < g->nholders && !g->planned; i++)
		if (strcmp(g->holders[i], holder) == 0)
			return true;
	return false;
}

struct parked_group *parked_find(const struct parked_uids *p, const char *holder)
{
	list_each(g, (struct list *)&p->groups, struct parked_group, link)
		if (is_holder(g, holder))
			return g;
	return NULL;
}

struct parked_group *parked_numbered(const struct parked_uids *p, unsigned long long no)
{
	list_each(g, (struct list *)&p->groups, struct parked_group, link)
		if (g->no == no)
			return g;
	return NULL;
}

static bool is_in(const char *path, const char *tree)
{
	size_t n = strlen(tree);

	return strncmp(path, tree, n) == 0 && (!path[n] || path[n] == '/');
}

/* Trees below the state directory are no working directories, and foreign ones are not shut. */
struct parked_group *parked_at(const struct parked_uids *p, const char *path)
{
	list_each(g, (struct list *)&p->groups, struct parked_group, link)
		for (size_t i = 0; i < g->ntrees && !g->planned; i++)
			if (g->trees[i].kind == PARKED_SHUT && is_in(path, g->trees[i].path))
				return g;
	return NULL;
}

/* --- going ----------------------------------------------------------------------------------------------------- */

void parked_forget(struct parked_uids *p, struct parked_group *g)
{
	_cleanup_(freep) char *path = group_path(p, g);

	unlink(path);
	group_free(g);
}

/* A tree of a client still exists. Compared by inode: another directory at the path is none of the group's. */
static bool has_trees(const struct parked_group *g)
{
	struct stat sb;

	for (size_t i = 0; i < g->ntrees; i++)
		if (g->trees[i].kind == PARKED_SHUT && lstat(g->trees[i].path, &sb) == 0 &&
		    sb.st_ino == g->trees[i].ino)
			return true;
	return false;
}

/* Its sessions are deleted, and so is what they worked on. */
static bool is_empty(const struct parked_group *g)
{
	return !g->nholders && !g->planned && !g->moving && !has_trees(g);
}

/* A write that fails leaves a holder without a journal in the record, which the next daemon drops. */
void parked_drop(struct parked_uids *p, const char *holder)
{
	struct parked_group *g = parked_find(p, holder);
	struct err e;
	size_t n = 0;

	if (!g)
		return;
	for (size_t i = 0; i < g->nholders; i++)
		if (strcmp(g->holders[i], holder) != 0)
			g->holders[n++] = g->holders[i];
		else
			free(g->holders[i]);
	g->nholders = n;
	if (is_empty(g))
		parked_forget(p, g);
	else
		(void)parked_write(p, g, g->moving, &e);
}

void parked_tree_removed(struct parked_uids *p, const char *path)
{
	list_each(g, &p->groups, struct parked_group, link)
		if (!g->nholders && has_tree(g, path) && is_empty(g))
			parked_forget(p, g);
}

/* Backwards: fn may drop the holder that it gets. */
void parked_each(struct parked_uids *p, void (*fn)(void *ctx, const char *holder), void *ctx)
{
	list_each(g, &p->groups, struct parked_group, link)
		for (size_t i = g->planned ? 0 : g->nholders; i-- > 0;)
			fn(ctx, g->holders[i]);
}

/* --- life ------------------------------------------------------------------------------------------------------ */

/* Goes on after a failure, so that as many doors as possible are shut, and returns the first error. */
static int read_all(struct parked_uids *p)
{
	struct dirent *entry;
	_cleanup_(closedirp) DIR *d = opendir(p->dir);
	int ret = d || errno == ENOENT ? 0 : -errno; /* it is made with the first */

	while (d && (entry = readdir(d))) {
		int r = read_group(p, entry->d_name);

		if (r < 0)
			log_error("session", "parked files not read", "path", p->dir, "name",
				  entry->d_name, "why", strerror(-r));
		ret = ret ? ret : r;
	}
	return ret;
}

struct parked_uids *parked_open(const char *state_dir, struct err *e)
{
	struct parked_uids *p = new0(struct parked_uids);
	int r;

	p->dir = file_join(state_dir, "parked");
	list_init(&p->groups);
	r = read_all(p);
	if (r == 0)
		return p;
	err_set(e, r, 0, "STATE_NOT_WRITABLE", "%s: %s", p->dir, strerror(-r));
	return parked_close(p);
}

struct parked_uids *parked_close(struct parked_uids *p)
{
	if (!p)
		return NULL;
	list_each(g, &p->groups, struct parked_group, link)
		group_free(g);
	free_each(p->dir, p);
	return NULL;
}
