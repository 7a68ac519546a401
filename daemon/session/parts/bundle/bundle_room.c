/*
 * bundle_room.c - directories for bundles that are being exported or imported, and the paths of runs/.
 *
 * A number names a directory, unique within this daemon: bundles/ is emptied at the start. Each user of one removes it at
 * its end; `rooms` limits how many are in use, since each can be as large as a bundle.
 */
#include "session/parts/bundle/bundle_internal.h"

#include "base/os/file.h"
#include "base/log.h"

/* r: -errno of a file of the bundle. The client can act on a full disk; anything else is for the operator. */
int bundle_room_failed(int r, struct err *e)
{
	return err_set(e, r, RPC_INTERNAL_ERROR,
		       r == -ENOSPC || r == -EDQUOT ? "NO_SPACE" : "STATE_NOT_WRITABLE",
		       "the files of the bundle cannot be written: %s", strerror(-r));
}

static int make_room_dirs(const char *dir)
{
	static const char *const names[] = { "artifacts", "model" };
	int r = file_mkdirs(dir, 0700);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(names); i++) {
		_cleanup_(freep) char *path = file_join(dir, names[i]);

		if (mkdir(path, 0700) < 0)
			r = -errno;
	}
	return r;
}

int bundle_room_new(struct session_store *st, char **ret, struct err *e)
{
	_cleanup_(freep) char *all = file_join(st->state_dir, "bundles"), *dir = NULL;
	char name[32];
	int r;

	if (store_bundle_of(st)->rooms >= BUNDLE_ROOMS_MAX)
		return err_set(e, -EBUSY, RPC_INVALID_REQUEST, "TOO_MANY",
			       "%d bundles are being made or taken: come again", BUNDLE_ROOMS_MAX);
	snprintf(name, sizeof(name), "%llu", (unsigned long long)++store_bundle_of(st)->next);
	dir = file_join(all, name);
	r = make_room_dirs(dir);
	if (r < 0) {
		removal_tree(st->removal, dir);
		return bundle_room_failed(r, e);
	}
	store_bundle_of(st)->rooms++;
	*ret = TAKE_PTR(dir);
	return 0;
}

void bundle_room_drop(struct session_store *st, const char *dir)
{
	if (!dir)
		return;
	store_bundle_of(st)->rooms--;
	if (removal_tree(st->removal, dir) < 0)
		log_warn("session", "the files of a bundle cannot be removed", "path", dir);
}

/* Removes what an earlier daemon left. */
static void bundle_room_begin(struct session_store *st)
{
	_cleanup_(freep) char *all = file_join(st->state_dir, "bundles");

	if (removal_tree(st->removal, all) < 0)
		log_warn("session", "the files of bundles cannot be removed", "path", all);
}

const struct session_part bundle_part = {
	.name = "bundle",
	.store_size = sizeof(struct store_bundles),
	.store_begin = bundle_room_begin,
};
