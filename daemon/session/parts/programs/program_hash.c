/*
 * program_hash.c - compares an installed harness with the SHA-256 of its pin.
 *
 * A single file is hashed as it is. A package is hashed as sha256sum(1) would list it: "HASH PATH"
 * lines, sorted by path, without node_modules. The tree is walked by descriptor and its files are
 * opened with O_NOFOLLOW and O_NONBLOCK. A link or FIFO in a package is an error, not a file
 * outside the package or a blocked open.
 */
#include "session/parts/programs/programs.h"

#include "base/util.h"
#include "base/limits.h"
#include "digest/digest.h"
#include "tree/held_tree.h"

#include <fcntl.h>

#define PACKAGE_FILES_MAX 65536

struct package_file {
	char *path;
	char hash[SHA256_HEX];
};

struct package {
	struct package_file *files;
	size_t n;
};

static void package_done(struct package *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->files[i].path);
	free(p->files);
}

/* --- one file ----------------------------------------------------------------------------------------------------- */

/* dir: AT_FDCWD or an open directory. */
static int hash_file(int dir, const char *name, int flags, char ret[SHA256_HEX])
{
	_cleanup_(closep) int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
	_cleanup_(freep) char *chunk = NULL;
	struct sha256_stream h;
	struct sha256 d;
	struct stat sb;
	ssize_t n;

	if (fd < 0 || fstat(fd, &sb) < 0)
		return -errno;
	if (!S_ISREG(sb.st_mode))
		return -EINVAL;
	chunk = xalloc(BODY_READ_BYTES);
	sha256_begin(&h);
	while ((n = read(fd, chunk, BODY_READ_BYTES)) > 0)
		sha256_add(&h, chunk, (size_t)n);
	if (n < 0)
		return -errno;
	sha256_end(&h, &d);
	sha256_hex(&d, ret);
	return 0;
}

/* --- a package ---------------------------------------------------------------------------------------------------- */

static int visit(void *ctx, const char *path, int dir, const char *leaf, const struct stat *sb)
{
	struct package *p = ctx;
	struct package_file *f;

	if (strcmp(leaf, "node_modules") == 0)
		return 1;
	if (S_ISDIR(sb->st_mode))
		return 0;
	if (p->n == PACKAGE_FILES_MAX)
		return -E2BIG;
	f = GROW(p->files, p->n);
	f->path = xstrdup(path);
	return hash_file(dir, leaf, O_NOFOLLOW, f->hash);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct package_file *)a)->path,
		      ((const struct package_file *)b)->path);
}

static int hash_package(const char *path, char ret[SHA256_HEX])
{
	_cleanup_(closep) int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(package_done) struct package p = { 0 };
	struct sha256_stream h;
	struct sha256 d;
	int r = dir < 0 ? -errno : held_walk(dir, visit, &p);

	if (r < 0)
		return r;
	qsort(p.files, p.n, sizeof(*p.files), by_path);
	sha256_begin(&h);
	for (size_t i = 0; i < p.n; i++) {
		sha256_add(&h, p.files[i].hash, SHA256_HEX - 1);
		sha256_add(&h, "  ", 2);
		sha256_add(&h, p.files[i].path, strlen(p.files[i].path));
		sha256_add(&h, "\n", 1);
	}
	sha256_end(&h, &d);
	sha256_hex(&d, ret);
	return 0;
}

/* --- a program ---------------------------------------------------------------------------------------------------- */

/* Takes "/file" off the end: what is left is the package. False: the program does not lie so. */
static bool to_package(char *program, const char *file)
{
	size_t n = strlen(program), k = strlen(file);

	if (n < k + 2 || program[n - k - 1] != '/' || strcmp(program + n - k, file) != 0)
		return false;
	program[n - k - 1] = '\0';
	return true;
}

int program_verify(const char *path, const struct harness_pin *pin, struct err *e)
{
	_cleanup_(freep) char *real = realpath(path, NULL);
	char hash[SHA256_HEX];
	int r;

	if (!real)
		r = -errno;
	else if (pin->kind == PIN_FILE)
		r = hash_file(AT_FDCWD, real, 0, hash);
	else if (to_package(real, pin->file))
		r = hash_package(real, hash);
	else
		return err_set(e, -EBADMSG, 0, "HASH_MISMATCH", "%s: is not %s of the package %s",
			       pin->id, pin->file, pin->package);
	if (r < 0)
		return err_set(e, r, 0, "PROGRAM_UNREADABLE", "%s: cannot be read: %s", pin->id,
			       strerror(-r));
	if (strcmp(hash, pin->sha256) != 0)
		return err_set(e, -EBADMSG, 0, "HASH_MISMATCH",
			       "%s: its SHA-256 is %s, that of %s@%s is %.16s...", pin->id, hash,
			       pin->package, pin->release, pin->sha256);
	return 0;
}
