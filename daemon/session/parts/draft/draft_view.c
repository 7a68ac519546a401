/*
 * draft_view.c - the paths, layers and mounts of a draft.
 *
 * An overlay leaves every path as it is. Without root there is a copy in the session's home instead, which becomes the working
 * directory; a process that uses the path of cwd itself then still reaches the real tree.
 *
 * An overlay is mounted below <state>/drafts/<id>/at, where acpd-unpack reads it, and later bound
 * into the session's mount namespace. `at` is made a private mount first, so that the overlay does
 * not propagate to other namespaces. Each generation has its own upper and work directory: after an
 * apply the changes are in the lower tree, and the next layer starts empty. Mounts survive a killed
 * daemon: draft_store_open unmounts them at the start.
 */
#include "session/parts/draft/draft_internal.h"

#include "base/log.h"
#include "base/os/file.h"
#include "proc/spaces/overlay.h"
#include "session/core/session_internal.h"

#include <dirent.h>
#include <limits.h>

bool session_has_draft(const struct session *s)
{
	return draft_of(s)->how != DRAFT_OFF;
}

/* --- paths -------------------------------------------------------------------------------------------------- */

static char *drafts_dir(const struct session_store *st)
{
	return file_join(st->state_dir, "drafts");
}

static char *draft_dir(const struct session *s)
{
	_cleanup_(freep) char *all = drafts_dir(s->store);

	return file_join(all, s->id);
}

static char *draft_path(const struct session *s, const char *name)
{
	_cleanup_(freep) char *dir = draft_dir(s);

	return file_join(dir, name);
}

char *draft_base_file(const struct session *s)
{
	return draft_path(s, "base");
}

/* A mount of its own, so that nobody who shares our tree of mounts sees what is mounted in it. */
static char *mounts_dir(const struct session *s)
{
	return draft_path(s, "at");
}

static char *draft_view_path(const struct session *s)
{
	_cleanup_(freep) char *at = mounts_dir(s);

	return file_join(at, "view");
}

/* Known before its home is. */
char *draft_copy_path(const struct session *s)
{
	_cleanup_(freep) char *homes = file_join(s->store->state_dir, "homes");
	_cleanup_(freep) char *home = file_join(homes, s->id);

	return file_join(home, DRAFT_COPY_NAME);
}

void draft_set(struct session *s, enum draft_how how, const char *missing)
{
	struct session_draft *d = draft_of(s);

	d->how = how;
	free(d->tree);
	d->tree = how == DRAFT_COPY    ? draft_copy_path(s) :
		  how == DRAFT_OVERLAY ? draft_view_path(s) :
					 NULL;
	s->workdir = how == DRAFT_COPY ? d->tree : NULL;
	s->overlay = how == DRAFT_OVERLAY ? d->tree : NULL;
	/* It may be the text that is here already. */
	if (missing != d->missing)
		xstrset(&d->missing, missing);
}

/* --- the generation ------------------------------------------------------------------------------------------- */

struct draft_head draft_head_read(const struct session *s)
{
	_cleanup_(freep) char *path = draft_base_file(s);
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char head[DRAFT_HEAD_BYTES];
	ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head));
	struct slice text = { head, n > 0 ? (size_t)n : 0 };
	struct draft_head ret;

	return draft_head_take(&text, &ret) ? ret : (struct draft_head){ 0 };
}

/* 0711 and 0710: members of the session's group pass through to the view, and can list nothing on the way. */
int draft_make_dir(const struct session *s)
{
	_cleanup_(freep) char *all = drafts_dir(s->store), *dir = draft_dir(s);
	int r = file_mkdirs(all, 0711);

	if (r == 0)
		r = file_mkdirs(dir, 0710);
	if (r == 0 && s->user.switched && lchown(dir, geteuid(), s->user.gid) < 0)
		r = -errno;
	return r;
}

/* --- the overlay ------------------------------------------------------------------------------------------------ */

/* As its user, who could have led a link there. */
static int open_lower(const struct session *s)
{
	int fd;

	agent_user_enter(&s->user);
	fd = open(s->cwd, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = fd < 0 ? -errno : fd;
	agent_user_leave(&s->user);
	return fd;
}

/* A new upper layer looks as what it lies over: the root of an overlay has its owner and mode. */
static int make_upper(const char *upper, int lower)
{
	struct stat sb;

	if (fstat(lower, &sb) < 0)
		return -errno;
	if (mkdir(upper, 0700) < 0)
		return errno == EEXIST ? 0 : -errno;
	if (chmod(upper, sb.st_mode & 07777) < 0 || lchown(upper, sb.st_uid, sb.st_gid) < 0)
		return -errno;
	return 0;
}

/* Others than of this generation. */
static void drop_layers(struct session *s, const char *layers, const char *keep)
{
	_cleanup_(closedirp) DIR *d = opendir(layers);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		_cleanup_(freep) char *path = file_join(layers, e->d_name);

		if (e->d_name[0] != '.' && strcmp(e->d_name, keep) != 0)
			removal_tree(s->store->removal, path);
	}
}

static int make_draft_dirs(struct session *s, const char *layer)
{
	_cleanup_(freep) char *layers = draft_path(s, "layers"), *at = mounts_dir(s),
			      *view = draft_view_path(s);
	int r = draft_make_dir(s);

	if (r == 0)
		r = file_mkdirs(layers, 0700);
	if (r == 0)
		r = file_mkdirs(layer, 0700);
	if (r == 0)
		r = file_mkdirs(at, 0711);
	return r == 0 ? file_mkdirs(view, 0700) : r;
}

/* Without it the mount is as shared as what is above it. */
static void make_private(const struct session *s)
{
	_cleanup_(freep) char *at = mounts_dir(s);
	int r = overlay_make_private(at);

	if (r < 0)
		log_debug("session", "the mount of a draft is seen by others", "session", s->id,
			  "text", strerror(-r));
}

static int mount_over(struct session *s, const char *layer, struct err *e)
{
	_cleanup_(freep) char *upper = file_join(layer, "upper"), *work = file_join(layer, "work"),
			      *view = draft_view_path(s);
	_cleanup_(closep) int lower = open_lower(s);
	int r = lower < 0 ? lower : make_draft_dirs(s, layer);

	if (r == 0)
		r = make_upper(upper, lower);
	if (r == 0 && mkdir(work, 0700) < 0 && errno != EEXIST)
		r = -errno;
	if (r < 0)
		return err_set(e, r, 0, "", "the directories of an overlay cannot be made: %s",
			       strerror(-r));
	/* Best effort: where it fails, the overlay works, and other namespaces see it. */
	make_private(s);
	return overlay_mount(&(struct overlay_spec){ lower, upper, work, view }, e);
}

char *draft_upper_path(const struct session *s)
{
	_cleanup_(freep) char *dir = draft_dir(s);

	return xprintf("%s/layers/%llu/upper", dir, (unsigned long long)draft_of(s)->generation);
}

int draft_mount(struct session *s, uint64_t generation, struct err *e)
{
	_cleanup_(freep) char *layers = draft_path(s, "layers"), *layer = NULL;
	char name[24];
	int r;

	if (draft_of(s)->mounted && draft_of(s)->generation == generation)
		return 0;
	/* A mount of another generation shows that generation's upper layer. */
	draft_unmount(s);
	if (geteuid() != 0)
		return err_set(e, -EPERM, 0, "", "the daemon is not root");
	snprintf(name, sizeof(name), "%llu", (unsigned long long)generation);
	layer = file_join(layers, name);
	drop_layers(s, layers, name);
	r = mount_over(s, layer, e);
	/* Also after a failure: a private mount at `at` may be left, which draft_unmount takes away. */
	draft_of(s)->mounted = true;
	if (r < 0)
		draft_unmount(s);
	draft_of(s)->generation = generation;
	return r;
}

void draft_unmount(struct session *s)
{
	_cleanup_(freep) char *at = draft_of(s)->mounted ? mounts_dir(s) : NULL;

	if (at)
		overlay_unmount(at);
	draft_of(s)->mounted = false;
}

void draft_remove(struct session *s)
{
	_cleanup_(freep) char *dir = draft_dir(s), *copy = draft_copy_path(s);

	draft_unmount(s);
	removal_tree(s->store->removal, dir);
	removal_tree(s->store->removal, copy);
}

/* --- all of them ------------------------------------------------------------------------------------------------- */

/* One that was killed has left its mounts. */
int draft_store_open(struct session_store *st, const struct store_config *cfg _unused_,
		     struct err *e _unused_)
{
	_cleanup_(freep) char *all = drafts_dir(st);
	_cleanup_(closedirp) DIR *d = geteuid() == 0 ? opendir(all) : NULL;
	struct dirent *found;

	while (d && (found = readdir(d))) {
		char path[PATH_MAX];

		if (found->d_name[0] != '.' && snprintf(path, sizeof(path), "%s/%s/at", all,
							found->d_name) < (int)sizeof(path))
			overlay_unmount(path);
	}
	return 0;
}

/* --- for those who only read --------------------------------------------------------------------------------- */

int draft_open_tree(struct session *s, struct err *e)
{
	struct err why;

	if (draft_of(s)->how != DRAFT_OVERLAY || draft_of(s)->mounted)
		return 0;
	/* Another job may be changing the base, and with it the generation, whose layer a mount keeps and no other. */
	if (workspaces_claimed(&s->store->workspaces, s->cwd))
		return err_set(e, -EBUSY, RPC_INVALID_REQUEST, "SESSION_BUSY",
			       "another job works on the session's workspace");
	if (draft_mount(s, draft_head_read(s).generation, &why) < 0)
		return err_set(e, -EIO, RPC_INTERNAL_ERROR, "DRAFT_UNREADABLE", "%s", why.msg);
	return 0;
}
