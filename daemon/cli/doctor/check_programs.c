/*
 * check_programs.c - doctor: acpd itself, its helpers, and where programs are looked for.
 *
 * The daemon may be root, and starts these programs. A program, or a directory
 * above one, that another user can write is therefore trouble. So is a set-user-ID bit or a file capability:
 * none of them needs rights beyond those of the user that starts it.
 */
#include "base/version.h"
#include "cli/doctor/doctor.h"

#include "base/os/file.h"

#include <sys/xattr.h>

#define SEARCH_PATH_MAX 64 /* directories of PATH that are looked at */

/* need: the daemon cannot do its work without. */
static const struct {
	const char *name, *variable;
	bool is_needed;
	const char *lost;
} helpers[] = {
	{ "acpd-unpack", "ACPD_UNPACK", true, "no workspace, skill or snapshot can be made" },
	{ "acpd-init", "ACPD_INIT", true, "no session can have level strict" },
	{ "acpd-fetch", "ACPD_FETCH", false, "the daemon makes no requests to other machines" },
	{ "acpd-proxy", "ACPD_PROXY", false, "no session can have network allowlist" },
};

/* Says nothing more than that it is well, unless it is not. */
static bool say_if_unsafe(struct doctor *d, const char *subject, const char *path)
{
	_cleanup_(freep) char *real = realpath(path, NULL);
	char why[256];

	if (!real || safe_path(real, why, sizeof(why)))
		return false;
	finding_hint(doctor_found(d, FOUND_TROUBLE, subject, "%s: %s", path, why),
		     "who may write there is the daemon's user soon: chown it to root, chmod go-w");
	return true;
}

void check_program(struct doctor *d)
{
	_cleanup_(freep) char *path = file_own_program();

	if (!path || !say_if_unsafe(d, NULL, path))
		doctor_found(d, FOUND_OK, NULL, "acpd %s, %s", acpd_version, path ? path : "");
}

void check_helpers(struct doctor *d)
{
	for (size_t i = 0; i < ARRAY_SIZE(helpers); i++) {
		_cleanup_(freep) char *path = file_program(helpers[i].variable, helpers[i].name);

		if (!path)
			finding_hint(
				doctor_found(d,
					     helpers[i].is_needed ? FOUND_TROUBLE : FOUND_WARNING,
					     helpers[i].name,
					     "it is not beside acpd, or cannot be run: %s",
					     helpers[i].lost),
				"install it beside acpd, or name it with %s", helpers[i].variable);
		else if (!say_if_unsafe(d, helpers[i].name, path))
			doctor_found(d, FOUND_OK, helpers[i].name, "%s", path);
	}
}

/* The daemon's own may be another one: a unit sets it. */
void check_search_path(struct doctor *d)
{
	_cleanup_(freep) char *list = xstrdup(getenv("PATH"));
	char why[256], *rest = list, *dir;
	bool well = true;

	for (unsigned n = 0; (dir = strsep(&rest, ":")) && n < SEARCH_PATH_MAX; n++) {
		_cleanup_(freep) char *real = realpath(dir, NULL);

		if (*dir == '/' && (!real || safe_path(real, why, sizeof(why))))
			continue;
		if (*dir != '/')
			snprintf(why, sizeof(why), "'%s' is another place in each directory", dir);
		well = false;
		finding_hint(doctor_found(d, FOUND_WARNING, NULL, "in PATH: %s", why),
			     "start the daemon with a PATH where only root may write");
	}
	if (well)
		doctor_found(d, FOUND_OK, NULL, "only root and we may write where PATH leads");
}

/* --- setuid ------------------------------------------------------------------------------------------------- */

static bool gives_rights(const char *path)
{
	struct stat st;

	return (stat(path, &st) == 0 && (st.st_mode & (S_ISUID | S_ISGID))) ||
	       getxattr(path, "security.capability", NULL, 0) > 0;
}

void check_setuid(struct doctor *d)
{
	bool found = false;

	for (size_t i = 0; i <= ARRAY_SIZE(helpers); i++) {
		_cleanup_(freep) char *path =
			i < ARRAY_SIZE(helpers) ?
				file_program(helpers[i].variable, helpers[i].name) :
				file_own_program();

		if (!path || !gives_rights(path))
			continue;
		found = true;
		finding_hint(doctor_found(d, FOUND_TROUBLE, NULL,
					  "%s gives who runs it more rights than he has", path),
			     "chmod ug-s, setcap -r: nothing of acpd needs that");
	}
	if (!found)
		doctor_found(d, FOUND_OK, NULL, "no program of acpd is");
}
