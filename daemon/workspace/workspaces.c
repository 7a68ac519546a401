/*
 * workspaces.c - per-tree records, claims and background jobs, for every directory that the daemon
 * writes into.
 *
 * The record of a tree is found by a digest of its normalized path, so all sessions share it.
 * workspaces_begin stores a recovery job before the real job starts, and workspaces_end removes it.
 * A note that exists at the start belongs to an interrupted job: its chore claims the tree before
 * any session can. A directory is handed over only through a descriptor, after a walk in which no
 * other user can change a component.
 */
#include "workspace/workspaces.h"

#include "base/os/file.h"
#include "base/log.h"
#include "json/json.h"
#include "workspace/helper_job.h"

#define KEY_HEX 32
#define NOTE_PENDING "pending"
#define NOTE_REMOVAL "removal"

/* --- records -------------------------------------------------------------------------------------------- */

/* "/a//b/" is "/a/b". */
/* As text alone: two names of one directory over a link have two records. */
static char *plain_path(const char *path)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	while (*path) {
		size_t slashes = strspn(path, "/"), n = strcspn(path + slashes, "/");

		if (n && slashes)
			buf_putc(&b, '/');
		buf_add(&b, path + slashes, n);
		path += slashes + n;
	}
	return xstrndup(b.data ? b.data : "", b.len);
}

/* The digest is cut to KEY_HEX digits, 128 bits: long enough that no two paths share a record. */
int workspaces_record(const struct workspaces *ws, const char *path, bool make, char **ret)
{
	_cleanup_(freep) char *plain = plain_path(path);
	struct sha256 sum;
	char hex[SHA256_HEX];
	int r = sha256_of(slice_of(plain), &sum);

	if (r < 0)
		return r;
	sha256_hex(&sum, hex);
	hex[KEY_HEX] = '\0';
	*ret = file_join(ws->state_dir, hex);
	r = make ? file_mkdirs(*ret, 0700) : 0;
	if (r < 0)
		free(TAKE_PTR(*ret));
	return r;
}

/* A file of the record; NULL: it cannot be had. The caller frees. */
static char *record_file(const struct workspaces *ws, const char *path, bool make, const char *name)
{
	_cleanup_(freep) char *record = NULL;

	return workspaces_record(ws, path, make, &record) < 0 ? NULL : file_join(record, name);
}

void workspaces_forget(const struct workspaces *ws, const char *path)
{
	_cleanup_(freep) char *record = NULL;

	if (workspaces_record(ws, path, false, &record) == 0)
		file_remove_tree(record);
}

/* A manifest is replaced, never changed, so a hard link is enough. */
void workspaces_inherit(const struct workspaces *ws, const char *path, const char *from)
{
	_cleanup_(freep) char *manifest = record_file(ws, path, true, "manifest");
	_cleanup_(freep) char *old = record_file(ws, from, false, "manifest");

	if (manifest && old && link(old, manifest) < 0 && errno != ENOENT)
		log_warn("workspace", "no record of a copied tree", "path", path, "error",
			 strerror(errno));
}

void workspaces_put_target(const struct agent_user *user, struct jw *w, const char *path)
{
	jw_str(w, "target", path);
	workspaces_put_owner(user, w);
}

void workspaces_put_owner(const struct agent_user *user, struct jw *w)
{
	if (!user->switched)
		return;
	jw_uint(w, "uid", user->uid);
	jw_uint(w, "gid", user->gid);
}

static void tree_put_job(const struct agent_user *user, struct buf *b, const char *path,
			 const char *manifest)
{
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	workspaces_put_target(user, &w, path);
	jw_str(&w, "manifest", manifest);
	jw_end_obj(&w);
}

void workspaces_put_recovery(const struct workspaces *ws, const struct agent_user *user,
			     struct buf *b, const char *path, const char *manifest)
{
	_cleanup_(freep) char *own = manifest ? NULL : record_file(ws, path, false, "manifest");

	tree_put_job(user, b, path, own ? own : manifest);
}

int workspaces_begin(const struct workspaces *ws, const struct agent_user *user, const char *path,
		     const char *manifest, struct err *e)
{
	_cleanup_(freep) char *record = NULL, *pending = NULL;
	_cleanup_(buf_done) struct buf b = { 0 };
	int r = workspaces_record(ws, path, true, &record);

	if (r == 0) {
		pending = file_join(record, NOTE_PENDING);
		workspaces_put_recovery(ws, user, &b, path, manifest);
		/* Written before the job starts: a later daemon recovers from it. */
		r = file_replace(pending, b.data, b.len, 0600);
	}
	if (r < 0)
		return err_set(e, r, RPC_INTERNAL_ERROR, "STATE_NOT_WRITABLE",
			       "cannot note the job: %s", strerror(-r));
	return 0;
}

void workspaces_end(const struct workspaces *ws, const char *path)
{
	_cleanup_(freep) char *record = NULL, *pending = NULL;

	if (workspaces_record(ws, path, false, &record) < 0)
		return;
	pending = file_join(record, NOTE_PENDING);
	unlink(pending);
	rmdir(record); /* a job that wrote nothing leaves nothing to be kept */
}

/* --- one at a time ---------------------------------------------------------------------------------------- */

static struct claim *claim_first(struct workspaces *ws, const char *path)
{
	list_each(c, &ws->claims, struct claim, link)
		if (strcmp(c->path, path) == 0)
			return c;
	return NULL;
}

static void claim_on_granted(void *ctx)
{
	struct claim *c = ctx;

	c->granted(c->ctx);
}

/* Granted from the loop even if the tree is free, so that the caller is never called back before it returns. */
void workspaces_claim(struct workspaces *ws, struct claim *c, const char *path,
		      void (*granted)(void *ctx), void *ctx)
{
	c->path = plain_path(path);
	c->granted = granted;
	c->ctx = ctx;
	list_add_tail(&ws->claims, &c->link);
	if (claim_first(ws, c->path) == c)
		loop_defer(ws->loop, &c->task, claim_on_granted, c);
}

bool workspaces_claimed(const struct workspaces *ws, const char *path)
{
	_cleanup_(freep) char *plain = plain_path(path);

	return claim_first((struct workspaces *)ws, plain) != NULL;
}

/* The next claim on the tree is granted from the loop, never from here: the caller may be in the middle of its own end. */
void workspaces_release(struct workspaces *ws, struct claim *c)
{
	struct claim *next;
	bool held;

	if (!c->path)
		return;
	held = claim_first(ws, c->path) == c;
	list_del(&c->link);
	loop_task_cancel(&c->task);
	next = held ? claim_first(ws, c->path) : NULL;
	if (next)
		loop_defer(ws->loop, &next->task, claim_on_granted, next);
	free(TAKE_PTR(c->path));
}

/* --- whose the instructions are ------------------------------------------------------------------------------- */

bool workspaces_has_instructions(const struct workspaces *ws, const char *path)
{
	_cleanup_(freep) char *mark = record_file(ws, path, false, "instructions");

	return mark && access(mark, F_OK) == 0;
}

/* If the daemon is killed before this is written, the file counts as one of others. */
void workspaces_note_instructions(const struct workspaces *ws, const char *path, bool ours)
{
	_cleanup_(freep) char *mark = record_file(ws, path, false, "instructions");

	if (mark && ours)
		file_replace(mark, "", 0, 0600);
	else if (mark)
		unlink(mark);
}

/* --- ephemeral directories ------------------------------------------------------------------------------------ */

/* We made it just now, with a random name. Still it is given away only if it is the one that we made. */
static int ephemeral_give_away(const struct agent_user *user, const char *path)
{
	_cleanup_(closep) int fd = -1;
	struct stat sb;

	if (!user->switched)
		return 0;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &sb) < 0)
		return -errno;
	if (sb.st_uid != geteuid() || sb.st_nlink != 2 || (sb.st_mode & 07777) != 0700)
		return -EPERM;
	return fchown(fd, user->uid, user->gid) < 0 ? -errno : 0;
}

/* The root is 0711: other users may pass through it to their own tree, and not list the others. */
int workspaces_make_ephemeral(const struct workspaces *ws, const struct agent_user *user,
			      char **ret, struct err *e)
{
	_cleanup_(freep) char *path = file_join(ws->root, RANDOM_HEX(16));
	int r = file_mkdirs(ws->root, 0711);

	if (r == 0)
		r = mkdir(path, 0700) < 0 ? -errno : ephemeral_give_away(user, path);
	if (r < 0)
		return err_set(e, r, RPC_INTERNAL_ERROR, "WORKSPACE_NOT_WRITABLE",
			       "cannot make a workspace below %s: %s", ws->root, strerror(-r));
	*ret = TAKE_PTR(path);
	return 0;
}

/* Only root and we can change its entries; in a sticky directory, others only their own. */
static bool is_closed_to_others(int dir)
{
	struct stat sb;

	return fstat(dir, &sb) == 0 && (sb.st_uid == 0 || sb.st_uid == geteuid()) &&
	       (!(sb.st_mode & 022) || (sb.st_mode & S_ISVTX));
}

/* Walks down without following a link, and makes the last component if it is missing. */
static int open_closed(const char *path)
{
	_cleanup_(closep) int dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char name[256];

	for (path += strspn(path, "/"); *path; path += strspn(path, "/")) {
		size_t n = strcspn(path, "/");
		int next;

		if (n >= sizeof(name))
			return -ENAMETOOLONG;
		if (!is_closed_to_others(dir))
			return -EPERM;
		memcpy(name, path, n);
		name[n] = '\0';
		path += n;
		if (!path[strspn(path, "/")] && mkdirat(dir, name, 0700) < 0 && errno != EEXIST)
			return -errno;
		next = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return -errno;
		close(dir);
		dir = next;
	}
	return TAKE_FD(dir);
}

int workspaces_hand_over(const struct agent_user *user, const char *path, struct err *e)
{
	_cleanup_(closep) int dir = *path == '/' ? open_closed(path) : -EINVAL;
	struct stat sb;
	int r = dir < 0 ? dir : fstat(dir, &sb) < 0 ? -errno : 0;

	if (r == 0 && user->switched && sb.st_uid != user->uid)
		r = sb.st_uid != geteuid()		  ? -EPERM :
		    fchown(dir, user->uid, user->gid) < 0 ? -errno :
							    0;
	if (r < 0)
		return err_field(e, "_meta.acpd.workspace.chown", "CHOWN_REFUSED",
				 "cwd cannot be handed over: %s", strerror(-r));
	return 0;
}

/* --- jobs nobody waits for ---------------------------------------------------------------------------------------- */

struct tree_chore {
	struct list link;
	struct workspaces *ws;
	uid_t uid;
	struct claim claim;
	struct helper_job *helper;
	char *path;
	struct buf job;
	bool removal;
};

static void chore_ended(void *ctx, struct slice report _unused_, const struct err *e)
{
	struct tree_chore *c = ctx;

	if (e)
		log_warn("workspace", c->removal ? "workspace not removed" : "tree not recovered",
			 "path", c->path, "reason", e->reason, "text", e->msg);
	else if (!c->removal)
		workspaces_end(c->ws, c->path);
	else {
		c->ws->removed(c->ws->ctx, c->path);
		/* Last: until then the next daemon does both again. */
		workspaces_forget(c->ws, c->path);
	}
	helper_job_free(c->helper);
	workspaces_release(c->ws, &c->claim);
	list_del(&c->link);
	c->ws->idle(c->ws->ctx);
	buf_done(&c->job);
	free_each(c->path, c);
}

static const struct helper_job_events chore_events = { NULL, chore_ended };

static void chore_run(void *ctx)
{
	struct tree_chore *c = ctx;
	const char *verb = c->removal ? "remove" : "recover";
	struct err e = { 0 };

	c->helper = helper_job_start(c->ws->loop, c->ws->procs,
				     &(struct helper_job_spec){ .verb = verb,
								.job = buf_slice(&c->job) },
				     &chore_events, c, &e);
	if (!c->helper)
		chore_ended(c, SLICE_NONE, &e);
}

/* uid: whose rights the job uses, which must not be lent to another session meanwhile (workspaces_work_as). */
static struct tree_chore *chore_new(struct workspaces *ws, const char *path, uid_t uid,
				    bool removal)
{
	struct tree_chore *c = new0(struct tree_chore);

	c->ws = ws;
	c->uid = uid;
	c->path = xstrdup(path);
	c->removal = removal;
	list_add_tail(&ws->chores, &c->link);
	return c;
}

unsigned workspaces_recovering(const struct workspaces *ws, const char *path)
{
	_cleanup_(freep) char *plain = path ? plain_path(path) : NULL;
	unsigned n = 0;

	list_each(c, (struct list *)&ws->chores, struct tree_chore, link)
		n += !c->removal && (!plain || strcmp(c->claim.path, plain) == 0);
	return n;
}

bool workspaces_work_as(const struct workspaces *ws, uid_t uid)
{
	list_each(c, (struct list *)&ws->chores, struct tree_chore, link)
		if (c->uid == uid)
			return true;
	return false;
}

void workspaces_remove(struct workspaces *ws, const struct agent_user *user, const char *path)
{
	struct tree_chore *c = chore_new(ws, path, user->uid, true);
	_cleanup_(freep) char *note = record_file(ws, path, true, NOTE_REMOVAL);

	tree_put_job(user, &c->job, path, NULL);
	/* without the note it is removed too, unless we are killed before */
	if (note)
		(void)file_replace(note, c->job.data, c->job.len, 0600);
	workspaces_claim(ws, &c->claim, path, chore_run, c);
}

/* False: there is no such note. */
static bool chore_take_up(struct workspaces *ws, const char *record, const char *name)
{
	_cleanup_(freep) char *note = file_join(record, name), *path = NULL;
	_cleanup_(buf_done) struct buf b = { 0 };
	struct tree_chore *c;
	struct jval v;

	if (file_read(note, 4 * PATH_BYTES_MAX, &b) < 0)
		return false;
	if (jscan_value(buf_slice(&b), &v) != JSCAN_OK ||
	    jstr_decode(jobj_get(buf_slice(&b), "target"), PATH_BYTES_MAX, &path) < 0) {
		log_warn("workspace", "a note of a job is damaged", "path", note);
		unlink(note);
		return false;
	}
	c = chore_new(ws, path, (uid_t)jobj_uint(buf_slice(&b), "uid"),
		      strcmp(name, NOTE_REMOVAL) == 0);
	buf_add_slice(&c->job, buf_slice(&b));
	workspaces_claim(ws, &c->claim, path, chore_run, c);
	return true;
}

/* A removal counts more than a pending job: the tree is not needed any more, in whatever state it is. */
void workspaces_recover(struct workspaces *ws)
{
	DIR *d = opendir(ws->state_dir);
	struct dirent *entry;

	if (!d)
		return;
	while ((entry = readdir(d))) {
		_cleanup_(freep) char *record = NULL;

		if (strlen(entry->d_name) != KEY_HEX)
			continue;
		record = file_join(ws->state_dir, entry->d_name);
		if (!chore_take_up(ws, record, NOTE_REMOVAL))
			chore_take_up(ws, record, NOTE_PENDING);
	}
	closedir(d);
}
