/*
 * install_source.c - the files of a harness: from a package or an executable in a file, or from npm.
 *
 * The kind of a file is determined by its first bytes. A package is untrusted, so acpd-unpack reads it. npm fetches a
 * release by name and version, with --ignore-scripts and a cache in the build directory: it runs no code of the
 * package, and leaves nothing elsewhere. The caller compares the program with its pin afterwards. The error output of
 * npm is searched for network errors, which have an exit code of their own.
 */
#include "cli/harness/harness_install.h"
#include "cli/harness/program_host.h"
#include "cli/archive/archive.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/os/file.h"
#include "json/jenc.h"
#include "session/core/session_paths.h"

#include <sys/sendfile.h>

extern char **environ;

static char *package_in(const char *place, const struct harness_pin *pin)
{
	return xprintf("%s/node_modules/%s", place, pin->package);
}

/* --- a file ---------------------------------------------------------------------------------------------------------- */

enum file_kind { FILE_OTHER, FILE_PACKAGE, FILE_PROGRAM };

static enum file_kind source_kind(int fd)
{
	unsigned char b[4] = { 0 };

	/* pread: the offset stays, and copy_program_bytes begins at 0. */
	if (pread(fd, b, sizeof(b), 0) != sizeof(b))
		return FILE_OTHER;
	if (b[0] == 0x1f && b[1] == 0x8b)
		return FILE_PACKAGE;
	return memcmp(b, "\177ELF", 4) == 0 ? FILE_PROGRAM : FILE_OTHER;
}

/* npm packs everything below one directory, whatever its name. */
static int unpack_package(const struct harness_install *in, const char *place, struct err *e)
{
	_cleanup_(freep) char *target = package_in(place, in->pin);
	JW_BUF(w, job);
	const struct config plain = { .json = false };
	int code, r = file_mkdirs(target, 0755);

	if (r < 0) {
		err_set(e, r, 0, "PREFIX_NOT_WRITABLE", "%s: %s", target, strerror(-r));
		return EXIT_FAILED;
	}
	jw_object(&w, NULL, JW_STR("target", target),
		  JW_ARR("sources", JW_STR("archive", in->from), JW_INT("strip", 1)));
	code = run_unpack(&plain, "extract", buf_slice(&job), NULL);
	if (code != EXIT_DONE)
		err_set(e, -EBADMSG, 0, "PACKAGE_REFUSED", "%s: %s cannot be unpacked", in->pin->id,
			in->from);
	return code;
}

static int copy_program_bytes(int from, int to)
{
	ssize_t n;

	do {
		n = sendfile(to, from, NULL, BODY_READ_BYTES);
	} while (n > 0);
	return n < 0 ? -errno : 0;
}

static int copy_program(const struct harness_install *in, const char *place, int from,
			struct err *e)
{
	_cleanup_(freep) char *package = package_in(place, in->pin),
			      *path = file_join(package, in->pin->file), *dir = xstrdup(path);
	_cleanup_(closep) int to = -1;
	int r;

	*strrchr(dir, '/') = '\0';
	r = file_mkdirs(dir, 0755);
	if (r == 0) {
		to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
		r = to < 0 ? -errno : copy_program_bytes(from, to);
	}
	if (r == 0)
		return EXIT_DONE;
	err_set(e, r, 0, "PREFIX_NOT_WRITABLE", "%s: %s", path, strerror(-r));
	return EXIT_FAILED;
}

int install_from_file(const struct harness_install *in, const char *place, struct err *e)
{
	_cleanup_(closep) int fd = open(in->from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat sb;

	if (fd < 0 || fstat(fd, &sb) < 0 || !S_ISREG(sb.st_mode)) {
		err_set(e, -EINVAL, 0, "FILE_UNREADABLE", "%s: %s", in->from,
			fd < 0 ? strerror(errno) : "is no regular file");
		return EXIT_FAILED;
	}
	switch (source_kind(fd)) {
	case FILE_PACKAGE:
		return unpack_package(in, place, e);
	case FILE_PROGRAM:
		if (in->pin->kind == PIN_FILE)
			return copy_program(in, place, fd, e);
		err_set(e, -EINVAL, 0, "PACKAGE_NEEDED",
			"%s is a program of many files: --from takes its package, a .tgz",
			in->pin->id);
		return EXIT_USAGE;
	case FILE_OTHER:
	default:
		err_set(e, -EINVAL, 0, "FILE_UNKNOWN",
			"%s: is neither a package as npm packs it (.tgz) nor an executable",
			in->from);
		return EXIT_USAGE;
	}
}

/* --- npm ------------------------------------------------------------------------------------------------------------- */

/* What npm says where its registry cannot be reached. */
static const char *const unreachable[] = { "ENOTFOUND",	   "EAI_AGAIN",	 "ECONNREFUSED",
					   "ECONNRESET",   "ETIMEDOUT",	 "ENETUNREACH",
					   "EHOSTUNREACH", "ENOTCACHED", "ERR_SOCKET_TIMEOUT" };

struct npm_run {
	const struct harness_install *in;
	struct loop *loop;
	char *spec; /* PACKAGE@RELEASE */
	struct err *e;
	int code;
};

static const char *why_unreachable(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(unreachable); i++)
		if (strstr(text, unreachable[i]))
			return unreachable[i];
	return NULL;
}

static void on_npm(void *ctx, const struct run_result *r)
{
	const char *errors = r->errors, *word = why_unreachable(errors);
	struct npm_run *n = ctx;
	size_t len = strlen(errors);

	n->code = EXIT_FAILED;
	if (r->timed_out)
		err_set(n->e, -ETIMEDOUT, 0, "INSTALL_TIMEOUT",
			"%s: npm was not done in time: npm install --ignore-scripts %s",
			n->in->pin->id, n->spec);
	else if (r->exited && r->code == 0)
		n->code = EXIT_DONE;
	else if (word)
		err_set(n->e, -ENETUNREACH, 0, "REGISTRY_UNREACHABLE",
			"%s: npm does not reach its registry (%s): npm install --ignore-scripts %s; --from FILE needs none",
			n->in->pin->id, word, n->spec);
	else
		err_set(n->e, -EIO, 0, "NPM_FAILED",
			"%s: npm install --ignore-scripts %s failed (%s %d): %s", n->in->pin->id,
			n->spec, r->exited ? "exit code" : "signal", r->code,
			len > 100 ? errors + len - 100 : errors);
	/* The exit code tells a script that a retry may help. */
	if (word && n->code != EXIT_DONE && !r->timed_out)
		n->code = EXIT_UNREACHABLE;
	loop_quit(n->loop);
}

static int run_npm(struct npm_run *n, char *npm, char *place, uint64_t ms)
{
	_cleanup_(program_host_close) struct program_host h = { 0 };
	_cleanup_(freep) char *cache = file_join(place, ".npm");
	char *argv[] = { npm,
			 "install",
			 "--prefix",
			 place,
			 "--cache",
			 cache,
			 "--ignore-scripts",
			 "--no-save",
			 "--no-package-lock",
			 "--no-audit",
			 "--no-fund",
			 "--loglevel=error",
			 n->spec,
			 NULL };
	struct run_spec spec = { .argv = argv,
				 .env = environ,
				 .cwd = place,
				 .timeout_ms = ms,
				 .output_max = PROGRAM_OUTPUT_MAX };
	struct bounded_run *run;

	if (program_host_open(&h, NULL, n->e) < 0)
		return EXIT_FAILED;
	n->loop = h.loop;
	run = bounded_run_start(h.loop, h.procs, &spec, on_npm, n, n->e);
	if (!run)
		return EXIT_FAILED;
	loop_run(h.loop);
	bounded_run_free(run);
	file_remove_tree(cache);
	return n->code;
}

int install_from_npm(const struct harness_install *in, const char *place, uint64_t until,
		     struct err *e)
{
	_cleanup_(freep) char *npm = paths_find_command("npm", getenv("PATH")), *spec = NULL,
			      *at = xstrdup(place);
	uint64_t now = clock_mono_ms();
	struct npm_run n = { .in = in, .e = e, .code = EXIT_FAILED };

	spec = xprintf("%s@%s", in->pin->package, in->pin->release);
	if (!npm) {
		err_set(e, -ENOENT, 0, "NPM_MISSING",
			"%s: there is no npm in PATH for npm install --ignore-scripts %s; --from FILE needs none",
			in->pin->id, spec);
		return EXIT_FAILED;
	}
	n.spec = spec;
	return run_npm(&n, npm, at, until > now ? until - now : 1);
}
