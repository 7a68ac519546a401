/*
 * check_dirs.c - doctor: the directories that the daemon keeps things in, their disk, and the clock.
 *
 * A directory is tried as serve tries it, by a file. Then its path is checked: whoever can replace a directory
 * above the state of a daemon that is root has what the daemon has. Free space and inodes are those of the nearest
 * existing directory.
 */
#include "cli/doctor/doctor.h"
#include "cli/serve/serve.h"

#include "base/limits.h"

#include <pwd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

/* --- directories ------------------------------------------------------------------------------------------ */

/* The user of agents may own the workspaces, where sessions have no uids of their own. */
static bool is_agents(const struct doctor *d, const char *path)
{
	const struct passwd *pw = d->c->agent_user && !d->c->agent_uids && d->has_accounts ?
					  getpwnam(d->c->agent_user) :
					  NULL;
	struct stat st;

	return pw && stat(path, &st) == 0 && st.st_uid == pw->pw_uid &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* It, or the nearest directory above that is there; the caller frees. */
static char *nearest_real(const char *dir)
{
	_cleanup_(freep) char *at = xstrdup(dir);
	char *slash, *real;

	while (!(real = realpath(at, NULL)) && (slash = strrchr(at, '/')) && slash > at)
		*slash = '\0';
	return real ? real : xstrdup("/");
}

/* What is above it has to be safe, and so has it itself. */
static bool is_safe(const struct doctor *d, const char *dir, bool agents, char *why, size_t size)
{
	_cleanup_(freep) char *path = nearest_real(dir);
	char *slash;

	if (!agents || !is_agents(d, path))
		return safe_path(path, why, size);
	/* Its own directory is the user's; only what is above has to be safe. */
	slash = strrchr(path, '/');
	slash[slash == path] = '\0';
	return safe_path(path, why, size);
}

static void check_dir(struct doctor *d, const char *option, const char *dir, bool agents)
{
	char why[256];
	struct stat st;
	struct err e;

	if (serve_check_dir(option, dir, &e) < 0) {
		finding_hint(doctor_found(d, FOUND_TROUBLE, option, "%s", e.msg),
			     "run this as the user of the daemon, or name another with --%s",
			     option);
		return;
	}
	if (!is_safe(d, dir, agents, why, sizeof(why)))
		finding_hint(doctor_found(d, FOUND_TROUBLE, option, "%s: %s", dir, why),
			     "chown and chmod it: only root and the daemon's user may change it");
	else if (stat(dir, &st) < 0)
		doctor_found(d, FOUND_OK, option, "%s is not there yet, and can be made", dir);
	else
		doctor_found(d, FOUND_OK, option, "%s (uid %u, mode %04o)", dir,
			     (unsigned)st.st_uid, (unsigned)st.st_mode & 07777);
}

void check_dirs(struct doctor *d)
{
	const struct config *c = d->c;

	if (!c->state)
		finding_hint(doctor_found(d, FOUND_TROUBLE, "state", "there is no home directory"),
			     "name one with --state");
	else
		check_dir(d, "state", c->state, false);
	if (c->run_dir)
		check_dir(d, "run-dir", c->run_dir, false);
	if (c->workspaces)
		check_dir(d, "workspaces", c->workspaces, true);
}

/* --- disk --------------------------------------------------------------------------------------------------- */

static void check_disk_room(struct doctor *d, const char *option, const char *dir)
{
	/* the disk of the nearest directory above that exists */
	_cleanup_(freep) char *at = nearest_real(dir);
	enum found_level level = FOUND_OK;
	unsigned long long bytes, inodes;
	struct statvfs v;
	struct finding *f;

	if (statvfs(at, &v) < 0)
		return;
	/* what is kept for root is root's */
	bytes = (unsigned long long)(geteuid() ? v.f_bavail : v.f_bfree) * v.f_frsize;
	inodes = geteuid() ? v.f_favail : v.f_ffree;
	if (v.f_blocks)
		level = bytes < DOCTOR_BYTES_MIN ? FOUND_TROUBLE :
			bytes < DOCTOR_BYTES_LOW ? FOUND_WARNING :
						   level;
	if (v.f_files) /* file systems that make them as they need them say 0 */
		level = inodes < DOCTOR_INODES_MIN ? FOUND_TROUBLE :
			inodes < DOCTOR_INODES_LOW ? MAX(level, FOUND_WARNING) :
						     level;
	f = doctor_found(d, level, option, "%llu MiB and %llu inodes are free in %s", bytes / MIB,
			 v.f_files ? inodes : 0, dir);
	if (!v.f_files)
		snprintf(f->message, sizeof(f->message), "%llu MiB are free in %s", bytes / MIB,
			 dir);
	finding_hint(f, "journals, homes and snapshots need room: make some, or name another --%s",
		     option);
}

void check_disk(struct doctor *d)
{
	if (d->c->state)
		check_disk_room(d, "state", d->c->state);
	if (d->c->workspaces)
		check_disk_room(d, "workspaces", d->c->workspaces);
}

/* --- clock -------------------------------------------------------------------------------------------------- */

#define YEAR_MIN 2025
#define YEAR_MAX 2100
#define CLOCK_SLACK_SECS 60

void check_clock(struct doctor *d)
{
	time_t now = time(NULL);
	struct tm tm = { 0 };
	struct finding *f = NULL;
	struct stat self;
	char text[40];

	gmtime_r(&now, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	if (tm.tm_year + 1900 < YEAR_MIN || tm.tm_year + 1900 > YEAR_MAX)
		f = doctor_found(d, FOUND_TROUBLE, NULL, "it says %s", text);
	else if (stat("/proc/self/exe", &self) == 0 && now < self.st_mtime - CLOCK_SLACK_SECS)
		f = doctor_found(d, FOUND_TROUBLE, NULL,
				 "it says %s, and acpd itself is %lld s younger than that", text,
				 (long long)(self.st_mtime - now));
	else
		doctor_found(d, FOUND_OK, NULL, "%s", text);
	if (f)
		finding_hint(f, "set it: certificates and deadlines are judged by it");
}
