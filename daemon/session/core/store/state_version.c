#include "session/core/store/state_version.h"

#include "base/os/file.h"
#include "base/log.h"
#include "base/version.h"

#include <errno.h>

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
	int r = access(path, F_OK) == 0 ? 0 : file_replace(path, "1\n", 2, 0600);

	if (r < 0)
		log_warn("state", "the version is not written", "path", path, "text", strerror(-r));
}
