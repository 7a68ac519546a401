/* An archive file: its format, its decompression, its entries and the plan of them; what is written is only imagined. */
#include "fuzz.h"

#include "unpack/bytes/source.h"
#include "unpack/stage/stage_plan.h"
#include "unpack/entries/entries.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

static const struct plan_limits limits = {
	2000, 4 * MIB, 2 * MIB, 200, 10, { 1000, 20 },
};

static uint64_t open_file; /* bytes that it has got, + 1 */

static void check_path(const char *path)
{
	struct path_fault fault;
	struct checked_path name;

	FUZZ_CHECK(checked_path_parse(slice_of(path), &limits.names, &name, &fault));
	FUZZ_CHECK(strcmp(name.path, path) == 0 || *path == '\0');
}

static int on_reserve(void *ctx _unused_, uint64_t bytes _unused_)
{
	return 0;
}

static int on_dir(void *ctx _unused_, const char *path, mode_t mode)
{
	if (*path)
		check_path(path);
	FUZZ_CHECK((mode & ~0777u) == 0 && (mode & 0700) == 0700);
	return 0;
}

static int on_create(void *ctx _unused_, const char *path, mode_t mode)
{
	check_path(path);
	FUZZ_CHECK((mode & ~0777u) == 0 && !open_file);
	open_file = 1;
	return 0;
}

static int on_write(void *ctx _unused_, const void *p, size_t n)
{
	static volatile uint8_t last;

	FUZZ_CHECK(open_file);
	if (n) /* both ends can be read */
		last = ((const uint8_t *)p)[0] ^ ((const uint8_t *)p)[n - 1];
	(void)last;
	open_file += n;
	return 0;
}

static int on_hole(void *ctx _unused_, uint64_t n)
{
	FUZZ_CHECK(open_file);
	open_file += n;
	return 0;
}

static int on_finish(void *ctx _unused_, uint64_t size, int64_t mtime, struct stat *sb _unused_)
{
	FUZZ_CHECK(open_file == size + 1 && mtime >= 0 && mtime < 1LL << 32);
	open_file = 0;
	return 0;
}

static int on_pair(void *ctx _unused_, const char *from, const char *path)
{
	check_path(from);
	check_path(path);
	return 0;
}

static int on_symlink(void *ctx _unused_, const char *path, const char *target)
{
	check_path(path);
	FUZZ_CHECK(*target && *target != '/');
	return 0;
}

static int on_remove(void *ctx _unused_, const char *path)
{
	check_path(path);
	return 0;
}

static int on_touch(void *ctx _unused_, const char *path _unused_, int64_t mtime)
{
	FUZZ_CHECK(mtime >= 0 && mtime < 1LL << 32);
	return 0;
}

/* One of the names is a reserved one. */
static int on_move(void *ctx _unused_, const char *from, const char *path)
{
	FUZZ_CHECK(*from && *path && *from != '/' && *path != '/');
	return 0;
}

static int on_rmdir(void *ctx _unused_, const char *path)
{
	FUZZ_CHECK(*path);
	return 0;
}

static const struct stage_writer_ops ops = {
	.reserve = on_reserve,
	.dir = on_dir,
	.create = on_create,
	.write = on_write,
	.hole = on_hole,
	.finish = on_finish,
	.hard = on_pair,
	.symlink = on_symlink,
	.remove = on_remove,
	.touch = on_touch,
	.move = on_move,
	.rmdir = on_rmdir,
};

static int read_archive(int fd, struct plan *p, struct verdict *v)
{
	struct feed_limits feed = { 16 * MIB, limits.ratio };
	enum archive_format format;
	struct source *s = NULL;
	int r = format_detect(fd, ARCHIVE_UNKNOWN, &format, v);

	if (r < 0)
		return r;
	if (format == ARCHIVE_ZIP)
		return zip_read(fd, feed, p);
	r = source_open(fd, format, feed, NULL, &s, v);
	if (r == 0)
		r = tar_read(s, p);
	source_close(s);
	return r;
}

/* What came of it. */
struct result {
	struct verdict v;
	struct sha256 manifest;
};

/* What is planned holds the limits, and comes out of the manifest again. */
static void check_plan(struct plan *p, struct sha256 *digest)
{
	FUZZ_CHECK(p->m.n - 1 <= limits.entries && p->bytes <= limits.bytes);
	FUZZ_CHECK(manifest_write(&p->m, -1, digest) == 0);
}

static void read_by(const char *inflate, int fd, bool strip, struct result *ret)
{
	uint64_t stripped;
	struct plan p;
	int r;

	*ret = (struct result){ .v = { .kind = VERDICT_NONE } };
	setenv("ACPD_INFLATE", inflate, 1);
	open_file = 0;
	plan_init(&p, &limits, (struct stage_sink){ &ops, NULL }, &ret->v);
	r = read_archive(fd, &p, &ret->v);
	if (r == 0 && strip)
		r = strip_finish(&p, STRIP_AUTO, &stripped);
	if (r == 0)
		r = plan_finish(&p);
	FUZZ_CHECK((r < 0) == (ret->v.kind != VERDICT_NONE));
	if (r < 0)
		FUZZ_CHECK(ret->v.kind == VERDICT_REFUSED && ret->v.reason[0] && ret->v.message[0]);
	else
		check_plan(&p, &ret->manifest);
	plan_done(&p);
}

/* Both decompressors: one verdict, one tree. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("archive", MFD_CLOEXEC);
	struct result z, other;

	FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	read_by("zlib", fd, size % 2, &z); /* a flipped coin */
	read_by("isal", fd, size % 2, &other);
	FUZZ_CHECK(z.v.kind == other.v.kind && z.v.has_limit == other.v.has_limit);
	FUZZ_CHECK(strcmp(z.v.reason, other.v.reason) == 0 && strcmp(z.v.path, other.v.path) == 0);
	FUZZ_CHECK(strcmp(z.v.message, other.v.message) == 0);
	FUZZ_CHECK(!z.v.has_limit || z.v.used == other.v.used);
	FUZZ_CHECK(memcmp(&z.manifest, &other.manifest, sizeof(z.manifest)) == 0);
	close(fd);
	return 0;
}
