/*
 * state_dir.c - checks and writes the version of the state directory, and removes permissions that
 * others have in it.
 *
 * Every entry that the daemon creates there has a row with the widest mode it may have. Only entries
 * at the top are checked: below a private directory nobody else gets anywhere.
 */
#include "session/core/store/state_dir.h"

#include "base/os/file.h"
#include "base/log.h"
#include "base/version.h"
#include "base/util.h"

#include <dirent.h>

#define FILE_MAX 64

int state_version_check(const char *state_dir, struct err *e)
{
	_cleanup_(freep) char *path = file_join(state_dir, "version"), *text = NULL;
	_cleanup_(buf_done) struct buf b = { 0 };
	int r = file_read(path, FILE_MAX, &b);
	char *end;
	unsigned long n;

	if (r == -ENOENT || r == -ENOTDIR) /* of the first version, or not there yet */
		return 0;
	if (r == -EACCES || r == -EPERM)
		return 0; /* opening it gives the error */
	text = xstrndup(b.data ? b.data : "", b.len);
	n = strtoul(text, &end, 10);
	if (r == 0 && n > 0 && n <= STATE_VERSION_NOW && (!*end || strcmp(end, "\n") == 0))
		return 0;
	text[strcspn(text, "\n")] = '\0';
	err_flatten(text);
	return err_set(
		e, -EPROTONOSUPPORT, 0, "STATE_VERSION",
		"the state in %s is of version '%.32s', and this acpd (%s) knows versions up to %d: use the "
		"acpd that wrote it or a later one, or another --state",
		state_dir, text, acpd_version, STATE_VERSION_NOW);
}

void state_version_write(const char *state_dir)
{
	_cleanup_(freep) char *path = file_join(state_dir, "version");
	/* Never overwritten: the version check has accepted it. */
	int r = access(path, F_OK) == 0 ? 0 : file_replace(path, "1\n", 2, 0600);

	if (r < 0)
		log_warn("state", "the version is not written", "path", path, "text", strerror(-r));
}

/* --- who can access it ------------------------------------------------------------------------------------------ */

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

static mode_t mode_widest(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		if (ours[i].begins ? strncmp(name, ours[i].name, strlen(ours[i].name)) == 0 :
				     strcmp(name, ours[i].name) == 0)
			return ours[i].mode;
	/* Files of the operator, or of a later version: their modes are not acpd's to change. */
	return 07777;
}

static void mode_fix(int dir, const char *name)
{
	mode_t most = mode_widest(name);
	struct stat sb;
	char was[8];

	/* Links are left alone: fchmodat would change their target, anywhere. */
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
	_cleanup_(closedirp) DIR *d = opendir(state_dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		mode_fix(dirfd(d), e->d_name);
}
