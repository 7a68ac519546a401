#include "cli/confine/try_home.h"

#include "base/os/file.h"
#include "session/core/harness/baseenv.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

static int make_dir(const char *path, const struct passwd *user)
{
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	return user && chown(path, user->pw_uid, user->pw_gid) < 0 ? -errno : 0;
}

static char **build_env(const char *home, const char *tmp, const struct passwd *user,
			const struct sockaddr_in *proxy)
{
	_cleanup_(harness_plan_done) struct harness_plan plan = { 0 };

	baseenv_put(&plan, NULL);
	if (proxy)
		baseenv_proxy(&plan, proxy);
	harness_plan_env(&plan, "HOME", home);
	harness_plan_env(&plan, "TMPDIR", tmp);
	if (user) {
		harness_plan_env(&plan, "USER", user->pw_name);
		harness_plan_env(&plan, "LOGNAME", user->pw_name);
	}
	baseenv_no_proxy(&plan, NULL);
	return harness_plan_environ(&plan);
}

int try_home_make(struct try_home *h, const struct passwd *user, const struct sockaddr_in *proxy,
		  struct err *e)
{
	const char *parent = getenv("TMPDIR");
	char name[] = "acpd-try-XXXXXX";
	int r;

	h->dir = file_join(parent && *parent == '/' ? parent : "/tmp", name);
	if (!mkdtemp(h->dir)) {
		r = -errno;
		free(TAKE_PTR(h->dir));
		return err_set(e, r, 0, "NO_HOME", "no directory for a home can be made: %s",
			       strerror(-r));
	}
	h->tmp = file_join(h->dir, "tmp");
	r = make_dir(h->tmp, user);
	if (r == 0)
		r = make_dir(h->dir, user);
	if (r < 0)
		return err_set(e, r, 0, "NO_HOME", "no home in %s: %s", h->dir, strerror(-r));
	h->env = build_env(h->dir, h->tmp, user, proxy);
	return 0;
}

void try_home_remove(struct try_home *h)
{
	if (h->dir)
		file_remove_tree(h->dir);
	free(h->dir);
	free(h->tmp);
	harness_plan_free_environ(h->env);
}
