#include "fetcher/fetcher.h"

#include "base/os/file.h"
#include "proc/standing.h"

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

int fetcher_user(const char *asked, const char *agent_user, uid_t *uid, gid_t *gid, struct err *e)
{
	return standing_user(&(struct standing){ .name = "acpd-fetch",
						 .option = "fetch-user",
						 .user = (char *)asked,
						 .agent_user = (char *)agent_user },
			     uid, gid, e);
}
