#include "session/core/store/state_modes.h"

#include "base/log.h"
#include "base/util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#define PASSABLE 0711
#define PRIVATE 0700

/* Names, or their beginnings (the ledger has many files). */
static const struct {
	const char *name;
	bool begins;
	mode_t mode;
} ours[] = {
	{ ".", false, PASSABLE },	 { "homes", false, PASSABLE },
	{ "drafts", false, PASSABLE },	 { "sessions", false, PRIVATE },
	{ "trees", false, PRIVATE },	 { "archives", false, PRIVATE },
	{ "artifacts", false, PRIVATE }, { "snapshots", false, PRIVATE },
	{ "removed", false, PRIVATE },	 { "usage.", true, PRIVATE },
	{ "runs", false, PRIVATE },	 { "bundles", false, PRIVATE },
	{ "owner", false, PRIVATE },	 { "lock", false, PRIVATE },
	{ "version", false, PRIVATE },	 { "uids", false, PRIVATE },
};

static mode_t most_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		if (ours[i].begins ? strncmp(name, ours[i].name, strlen(ours[i].name)) == 0 :
				     strcmp(name, ours[i].name) == 0)
			return ours[i].mode;
	return 07777;
}

static void mend(int dir, const char *name)
{
	mode_t most = most_of(name);
	struct stat sb;
	char was[8];

	if (fstatat(dir, name, &sb, AT_SYMLINK_NOFOLLOW) < 0 || S_ISLNK(sb.st_mode) ||
	    !(sb.st_mode & 0777 & ~most))
		return;
	snprintf(was, sizeof(was), "%04o", sb.st_mode & 07777);
	if (fchmodat(dir, name, sb.st_mode & most, 0) < 0)
		log_error("state", "others can reach what is the daemon's", "name", name, "mode",
			  was, "text", strerror(errno));
	else
		log_warn("state", "others could reach what is the daemon's; they no longer can",
			 "name", name, "mode", was);
}

void state_modes_mend(const char *state_dir)
{
	DIR *d = opendir(state_dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		mend(dirfd(d), e->d_name);
	if (d)
		closedir(d);
}
