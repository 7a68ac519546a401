/*
 * pr_bundle.c - the branch of openPR for programs without access to this repository: a bundle, from which git fetches
 * and clones.
 *
 * This code makes it of a header and a pack, without `git bundle`, which needs the branch to exist: so a bundle that is
 * too large is refused before anything is made. In a session the bundle becomes an artifact. Elsewhere it stays beside
 * the repository's objects.
 */
#include "base/os/file.h"
#include "base/limits.h"
#include "base/util.h"
#include "tools/builtin/git/pr_internal.h"
#include "tools/builtin/core/toolbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define SHA1_HEX 40
#define BUNDLE_DIR "acpd-bundles"

void bundle_args(struct pr *p _unused_, const char **argv)
{
	pr_push(argv, (const char *const[]){ "pack-objects", "--revs", "--stdout", "-q",
					     "--delta-base-offset", NULL });
}

struct slice bundle_input(struct pr *p, struct buf *b)
{
	buf_printf(b, "%s\n", p->commit);
	if (p->base)
		buf_printf(b, "^%s\n", p->onto);
	return buf_slice(b);
}

static void header_put(struct pr *p)
{
	struct buf *b = &p->bundle;

	buf_puts(b, strlen(p->commit) > SHA1_HEX ? "# v3 git bundle\n@object-format=sha256\n" :
						   "# v2 git bundle\n");
	if (p->base)
		buf_printf(b, "-%s base\n", p->onto);
	buf_printf(b, "%s refs/heads/%s\n%s HEAD\n\n", p->commit, p->branch, p->commit);
}

/* <objects>/../acpd-bundles, which is no link. */
static int dir_open(const struct pr *p, char **ret)
{
	_cleanup_(freep) char *above = xstrdup(p->store);
	char *slash = strrchr(above, '/');
	int fd;

	if (!slash)
		return -EINVAL;
	*slash = '\0';
	*ret = file_join(above, BUNDLE_DIR);
	if (mkdir(*ret, 0777) < 0 && errno != EEXIST)
		return -errno;
	fd = open(*ret, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int bundle_leave(struct pr *p)
{
	_cleanup_(freep) char *dir = NULL;
	_cleanup_(closep) int at = dir_open(p, &dir), fd = -1;
	int r = at;

	if (r < 0)
		return tool_errno(&p->e, r, "cannot make", dir ? dir : p->store);
	fd = openat(at, p->bundle_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return tool_errno(&p->e, errno, "cannot write", p->bundle_name);
	p->bundle_path = file_join(dir, p->bundle_name);
	r = file_write_all(fd, p->bundle.data, buf_len(&p->bundle));
	return r < 0 ? tool_errno(&p->e, r, "cannot write", p->bundle_path) : 0;
}

void bundle_drop(struct pr *p)
{
	if (p->bundle_path)
		unlink(p->bundle_path);
}

int bundle_done(struct pr *p, struct slice out, int code _unused_)
{
	const char *name = strrchr(p->branch, '/');

	if (command_output_dropped(command_run_output(p->run, RUN_STDOUT)) || out.n > PR_BUNDLE_MAX)
		return err_field(&p->e, "base", "BUNDLE_TOO_LARGE",
				 "the bundle of the branch has more than %lu bytes%s",
				 PR_BUNDLE_MAX,
				 p->base ? "" : ": with base, only what comes after it is in it");
	p->bundle.max = PR_BUNDLE_MAX + 4096;
	header_put(p);
	buf_add_slice(&p->bundle, out);
	if (p->bundle.failed)
		return -ENOMEM;
	p->bundle_name = xprintf("%s.bundle", name ? name + 1 : p->branch);
	return toolbox_config(p->call->box)->session ? 0 : bundle_leave(p);
}
