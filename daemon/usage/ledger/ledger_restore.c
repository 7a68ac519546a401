/* ledger_restore.c - finds the files that usage.ahead has pieces of. The one that is written to is named in it as it will
 * be called when it is closed, since it may have been closed before the machine stopped. */
#include "usage/ledger/ledger_internal.h"

#include "base/format/digits.h"
#include "base/log.h"
#include "base/os/file.h"
#include "usage/ledger/usage_ahead.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

static int open_for_ends(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

/* The file that is written to, if its name will be that. */
static int open_current(const struct ledger *l, const char *path)
{
	_cleanup_(closep) int fd = open_for_ends(l->path);
	uint64_t first = fd < 0 ? 0 : ledgerfile_first(fd);
	_cleanup_(freep) char *closed = first ? ledger_set_path(&l->set, first) : NULL;

	return closed && strcmp(closed, path) == 0 ? TAKE_FD(fd) : -ENOENT;
}

static int open_named(void *ctx, const char *name)
{
	const struct ledger *l = ctx;
	_cleanup_(freep) char *path = file_join(l->set.dir, name);
	int fd = *name == '/' || strstr(name, "..") ? -ENOENT : open_for_ends(path);

	return fd == -ENOENT ? open_current(l, path) : fd;
}

int ledger_restore(struct ledger *l, struct err *e)
{
	_cleanup_(freep) char *ahead = ledger_set_beside(&l->set, ".ahead");
	struct usage_ahead_replay found;
	char files[32];
	int r = usage_ahead_restore(ahead, open_named, l, &found);

	if (r < 0)
		return err_set(e, r, 0, "LEDGER", "what %s holds cannot be put back: %s", ahead,
			       strerror(-r));
	snprintf(files, sizeof(files), "%zu", found.restored);
	if (found.restored)
		log_warn("ledger", "put back what a stop of the machine had taken", "files", files);
	if (found.unknown)
		ledger_problem(l, "%zu pieces in %s fit no file any more", found.unknown, ahead);
	return 0;
}
