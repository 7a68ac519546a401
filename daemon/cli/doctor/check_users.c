/*
 * check_users.c - doctor: the settings, who agents run as, and how those could become root.
 *
 * All lookups of users need has_accounts: getpwnam reads the whole of /etc/passwd, and an image may have made it
 * anything. Settings are checked by the code of serve, which stops at the first error; doctor goes on.
 */
#include "cli/doctor/doctor.h"
#include "cli/serve/serve.h"

#include "proc/users/root_access.h"
#include "proc/users/uid_range.h"

#include <pwd.h>
#include <sys/stat.h>

/* --- settings ------------------------------------------------------------------------------------------------ */

static void settings_wrong(struct doctor *d, const struct err *e)
{
	finding_hint(doctor_found(d, FOUND_TROUBLE, *e->field ? e->field : NULL, "%s", e->msg),
		     "acpd serve --check says the same of one after the other");
}

static void setting_odd(void *ctx, const char *text)
{
	doctor_found(ctx, FOUND_WARNING, NULL, "%s", text);
}

void check_settings(struct doctor *d)
{
	struct err e = { 0 };
	bool well = true;

	if (serve_check_options(d->c, &e) < 0) {
		settings_wrong(d, &e);
		well = false;
	}
	d->has_harnesses = serve_harnesses(d->c, &d->harnesses, &e) == 0;
	if (!d->has_harnesses) {
		settings_wrong(d, &e);
		well = false;
	}
	if (serve_check_strictly(d->c, setting_odd, d, &e) < 0)
		settings_wrong(d, &e);
	else if (well)
		doctor_found(d, FOUND_OK, NULL, "acpd serve takes them");
}

/* --- users --------------------------------------------------------------------------------------------------- */

void check_accounts(struct doctor *d)
{
	static const char *const files[] = { "/etc/passwd", "/etc/group" };
	struct stat st;

	d->has_accounts = true;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (stat(files[i], &st) == 0 && S_ISREG(st.st_mode) &&
		    (size_t)st.st_size <= DOCTOR_ACCOUNTS_MAX)
			continue;
		d->has_accounts = false;
		finding_hint(doctor_found(d, FOUND_TROUBLE, NULL,
					  "%s is missing, no file, or too large to be read: "
					  "no user is looked up",
					  files[i]),
			     "an image has root and the users of agents there, and few more");
	}
}

static void check_home(struct doctor *d, const struct passwd *pw)
{
	struct stat st;

	if (stat(pw->pw_dir, &st) == 0 && (st.st_mode & S_IRWXO))
		finding_hint(doctor_found(d, FOUND_WARNING, NULL,
					  "others may look into the home of '%s' (%s, mode %04o)",
					  pw->pw_name, pw->pw_dir, (unsigned)st.st_mode & 07777),
			     "chmod 0700 %s", pw->pw_dir);
}

void check_agent_user(struct doctor *d)
{
	const char *name = d->c->agent_user;
	const struct passwd *pw = name && d->has_accounts ? getpwnam(name) : NULL;

	if (!name)
		finding_hint(doctor_found(d, FOUND_WARNING, NULL,
					  "none: harnesses run as the daemon's user"),
			     "--agent-user, for a daemon that is root");
	else if (!pw)
		finding_hint(doctor_found(d, FOUND_TROUBLE, NULL, "there is no user '%s'", name),
			     "useradd --user-group --create-home --shell /bin/bash %s", name);
	else if (geteuid() != 0 && pw->pw_uid != geteuid())
		finding_hint(doctor_found(d, FOUND_TROUBLE, NULL,
					  "only root can start what runs as '%s'", name),
			     "start acpd as root");
	else
		doctor_found(d, FOUND_OK, NULL, "%s (uid %u)", name, (unsigned)pw->pw_uid);
	if (pw)
		check_home(d, pw);
}

void check_shared_user(struct doctor *d)
{
	struct uid_range range;
	struct err e;

	if (uid_range_parse(d->c->agent_uids, &range, &e) < 0)
		return;
	if (!uid_range_size(&range))
		finding_hint(
			doctor_found(d, FOUND_WARNING, NULL,
				     "share one user: each can read and stop the others' processes"),
			"--agent-uids");
	else
		doctor_found(d, FOUND_OK, NULL, "have uids of their own, %u to %u",
			     (unsigned)range.first, (unsigned)range.last);
}

void check_agent_uids(struct doctor *d)
{
	struct uid_range range;
	unsigned bare = 0;
	struct err e;

	if (!d->has_accounts || (d->c->agent_user && !getpwnam(d->c->agent_user)))
		return; /* that is told already */
	if (serve_check_users(d->c, &e) < 0 || uid_range_parse(d->c->agent_uids, &range, &e) < 0 ||
	    uid_range_look(&range, &bare, &e) < 0)
		finding_hint(doctor_found(d, FOUND_TROUBLE, NULL, "%s", e.msg),
			     "--agent-uids needs root, --agent-user, and uids that are nobody's");
	else if (bare)
		finding_hint(doctor_found(d, FOUND_TROUBLE, NULL, "%u lack a user or group", bare),
			     "images/agent-users.sh %u %u", (unsigned)range.first,
			     (unsigned)range.last);
	else if (uid_range_size(&range))
		doctor_found(d, FOUND_OK, NULL, "each has its user and group");
}

/* --- ways to root -------------------------------------------------------------------------------------------- */

void check_ways_to_root(struct doctor *d)
{
	const struct passwd *pw = d->c->agent_user || !d->has_accounts ? NULL : getpwuid(geteuid());
	const char *name = d->c->agent_user ? d->c->agent_user : pw ? pw->pw_name : "";
	/* agents without a user of their own are not meant to be confined */
	enum found_level level = d->c->agent_user ? FOUND_TROUBLE : FOUND_WARNING;
	struct root_access found;

	root_access_find(&found, "/etc", name);
	for (size_t i = 0; i < found.n; i++)
		doctor_found(d, level, NULL, "%s", found.ways[i].text);
	found_all_ways(d, found.unread, found.n);
}
