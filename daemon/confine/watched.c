#include "confine/watched.h"

#include "base/util.h"

#include <fcntl.h>

#define HERE (-1)

/* clang-format off */
/* Opening for reading is no write, and what most opening is for. */
#define OPEN_IF(name, dir, path, flags, bits, wanted) \
	{ name, dir, path, TARGET_FLAGS, false, flags, { CONFINE_BITS(flags, bits, wanted) } }
#define OPEN(name, dir, path, flags) \
	OPEN_IF(name, dir, path, flags, O_ACCMODE, O_WRONLY), \
	OPEN_IF(name, dir, path, flags, O_ACCMODE, O_RDWR), \
	OPEN_IF(name, dir, path, flags, O_CREAT, O_CREAT), \
	OPEN_IF(name, dir, path, flags, O_TRUNC, O_TRUNC)
#define OLD(name, dir, path) { name, dir, path, TARGET_OLD, false, 0, {} }
#define LINK(name, dir, path) { name, dir, path, TARGET_OLD, true, 0, {} }
#define NEW(name, dir, path) { name, dir, path, TARGET_NEW, true, 0, {} }
#define ANY(name, dir, path, no_follow) { name, dir, path, TARGET_ANY, no_follow, 0, {} }

static const struct watched calls[] = {
	OPEN("open", HERE, 0, 1),
	OPEN("openat", 0, 1, 2),
	{ "openat2", 0, 1, TARGET_HOW, false, 2, {} },
	ANY("creat", HERE, 0, false),
	NEW("mkdir", HERE, 0), NEW("mkdirat", 0, 1),
	NEW("mknod", HERE, 0), NEW("mknodat", 0, 1),
	NEW("symlink", HERE, 1), NEW("symlinkat", 1, 2),
	NEW("link", HERE, 1), NEW("linkat", 2, 3),
	ANY("rename", HERE, 1, true), ANY("renameat", 2, 3, true), ANY("renameat2", 2, 3, true),
	/* Where a mount cannot be written, these do not even look for the name. */
	ANY("unlink", HERE, 0, true), ANY("unlinkat", 0, 1, true), ANY("rmdir", HERE, 0, true),
	OLD("truncate", HERE, 0),
	OLD("chmod", HERE, 0), OLD("fchmodat", 0, 1),
	OLD("chown", HERE, 0), LINK("lchown", HERE, 0), OLD("fchownat", 0, 1),
	OLD("utime", HERE, 0), OLD("utimes", HERE, 0), OLD("utimensat", 0, 1), OLD("futimesat", 0, 1),
	{ "connect", HERE, 1, TARGET_ADDRESS, false, 0, {} },
};
/* clang-format on */

const struct watched *watched_calls(size_t *n)
{
	*n = ARRAY_SIZE(calls);
	return calls;
}

const struct watched *watched_find(int number, const uint64_t args[CONFINE_CALL_ARGS])
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (confine_call_number(calls[i].call) == number &&
		    confine_call_fits(calls[i].when, args))
			return &calls[i];
	return NULL;
}
