#include "fetcher/fetcher.h"

#include "base/os/file.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

char *fetcher_program(void)
{
	return file_program("ACPD_FETCH", "acpd-fetch");
}

char *fetcher_ca_file(void)
{
	static const char *const usual[] = { "/etc/ssl/certs/ca-certificates.crt", /* Debian */
					     "/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora */
					     "/etc/ssl/ca-bundle.pem",		   /* SUSE */
					     "/etc/ssl/cert.pem" };		   /* Alpine */

	for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
		if (access(usual[i], R_OK) == 0)
			return xstrdup(usual[i]);
	return NULL;
}

int fetcher_ca_check(const char *path, struct err *e)
{
	_cleanup_(buf_done) struct buf pem = { 0 };
	static const char mark[] = "-----BEGIN CERTIFICATE-----";
	int r = file_read(path, FETCH_CA_MAX, &pem);

	if (r < 0)
		return err_field(e, "ca-file", "OPTION_INVALID", "--ca-file: %s: %s", path,
				 strerror(-r));
	if (!memmem(pem.data, pem.len, mark, strlen(mark)))
		return err_field(e, "ca-file", "OPTION_INVALID",
				 "--ca-file: %s has no certificate in PEM form", path);
	return 0;
}

static bool is_user(const char *name, uid_t uid)
{
	struct passwd *pw = name && *name ? getpwnam(name) : NULL;

	return pw && pw->pw_uid == uid;
}

/* One that is there and not the agent's; the last if none is. */
static const char *usual_user(const char *agent_user)
{
	static const char *const usual[] = { "acpd-fetch", "nobody", "daemon" };
	const char *name = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(usual); i++) {
		struct passwd *pw = getpwnam(usual[i]);

		name = usual[i];
		if (pw && pw->pw_uid != 0 && !is_user(agent_user, pw->pw_uid))
			break;
	}
	return name;
}

int fetcher_user(const char *asked, const char *agent_user, uid_t *uid, gid_t *gid, struct err *e)
{
	const char *name = asked ? asked : usual_user(agent_user);
	struct passwd *pw = getpwnam(name);

	if (!pw)
		return err_field(e, "fetch-user", "OPTION_INVALID",
				 "--fetch-user: no user named '%s'", name);
	*uid = pw->pw_uid;
	*gid = pw->pw_gid;
	if (*uid == 0 || is_user(agent_user, *uid))
		return err_field(e, "fetch-user", "OPTION_INVALID",
				 "--fetch-user: '%s' is %s, and acpd-fetch needs another one", name,
				 *uid == 0 ? "root" : "the agent's user");
	return 0;
}
