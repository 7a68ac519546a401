/*
 * landlock.c - builds a Landlock ruleset from a table and enforces it on the calling process.
 *
 * Each row of `versions` adds the rights of one ABI, and the size of the attribute structure that
 * this ABI reads. The kernel refuses unknown rights and longer structures, so a ruleset names only
 * what its ABI has. The rights of a grant are reduced to the rights given up: landlock_add_rule(2)
 * refuses others. Paths that cannot be opened are skipped.
 */
#include "confine/landlock.h"

#include "base/util.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

struct landlock_rights {
	uint64_t fs, net, scoped; /* as the kernel reads them */
};

/* What each version brought, and how much of the structure it reads. */
static const struct {
	int abi;
	size_t size;
	struct landlock_rights rights;
} versions[] = {
	{ 1, 8, { .fs = ((uint64_t)1 << 13) - 1 } },
	{ 2, 8, { .fs = (uint64_t)1 << 13 } }, /* moves between directories */
	{ 3, 8, { .fs = (uint64_t)1 << 14 } }, /* truncation */
	{ 4, 16, { .net = LL_NET_ALL } },
	{ 5, 16, { .fs = LL_FS_IOCTL_DEV } },
	{ 6, 24, { .scoped = LL_SCOPED_ALL } },
};

int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return abi < 0 ? 0 : (int)abi;
}

static int make_ruleset(const struct landlock_spec *spec, int abi, struct landlock_rights *ret)
{
	struct landlock_rights known = { 0 };
	size_t size = 0;
	long fd;

	for (size_t i = 0; i < ARRAY_SIZE(versions) && versions[i].abi <= abi; i++) {
		known.fs |= versions[i].rights.fs;
		known.net |= versions[i].rights.net;
		known.scoped |= versions[i].rights.scoped;
		size = versions[i].size;
	}
	*ret = (struct landlock_rights){ spec->fs & known.fs, spec->net & known.net,
					 spec->scoped & known.scoped };
	fd = syscall(SYS_landlock_create_ruleset, ret, size, 0);
	return fd < 0 ? -errno : (int)fd;
}

static int keep_below(int ruleset, int dir, uint64_t rights)
{
	struct landlock_path_beneath_attr below = { rights, dir };

	return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &below, 0) < 0 ?
		       -errno :
		       0;
}

static int keep_grant(int ruleset, const struct landlock_grant *g, uint64_t given_up)
{
	uint64_t rights = g->rights & given_up;
	int r = 0;

	for (const int *dir = g->dirs; r == 0 && dir && *dir >= 0; dir++)
		r = keep_below(ruleset, *dir, rights);
	for (const char *const *path = g->paths; r == 0 && path && *path; path++) {
		_cleanup_(closep) int fd = open(*path, O_PATH | O_CLOEXEC);

		if (fd >= 0)
			r = keep_below(ruleset, fd, rights);
	}
	return r;
}

int landlock_enter(const struct landlock_spec *spec)
{
	int abi = landlock_abi(), r = 0;
	struct landlock_rights given_up;
	_cleanup_(closep) int fd = -1;

	if (spec->abi_max)
		abi = MIN(abi, spec->abi_max);
	if (abi < MAX(spec->abi_min, 1))
		return 0;
	fd = make_ruleset(spec, abi, &given_up);
	if (fd < 0)
		return fd;
	for (size_t i = 0; r == 0 && i < spec->n_grants; i++)
		r = keep_grant(fd, &spec->grants[i], given_up.fs);
	if (r == 0 && syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		r = -errno;
	return r < 0 ? r : abi;
}
