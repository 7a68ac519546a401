/*
 * file_describe.c - the JSON members that describe a file, and the check of an expected version.
 *
 * The etag consists of inode, size and time of change in nanoseconds; atomic_write_date keeps the
 * times of two quick writes apart. Names and contents that are not UTF-8 are sent as base64,
 * because JSON cannot hold them.
 */
#include "tools/builtin/files/file_describe.h"

#include "base/clock.h"
#include "base/format/utf8.h"
#include "digest/base64.h"
#include "json/jstr.h"

#include <inttypes.h>
#include <limits.h>
#include <time.h>

int64_t stat_mtime_ms(const struct stat *sb)
{
	return sb->st_mtim.tv_sec * 1000LL + sb->st_mtim.tv_nsec / 1000000;
}

const char *stat_type(const struct stat *sb)
{
	switch (sb->st_mode & S_IFMT) {
	case S_IFDIR:
		return "dir";
	case S_IFLNK:
		return "symlink";
	case S_IFIFO:
		return "fifo";
	case S_IFSOCK:
		return "socket";
	case S_IFBLK:
		return "block";
	case S_IFCHR:
		return "char";
	default:
		return "file";
	}
}

static void stat_etag(const struct stat *sb, char out[ETAG_BYTES])
{
	snprintf(out, ETAG_BYTES, "%" PRIx64 "-%" PRIx64 "-%" PRIx64, (uint64_t)sb->st_ino,
		 (uint64_t)sb->st_size, time_ns(&sb->st_mtim));
}

void stat_put_version(struct jw *w, const struct stat *sb)
{
	char etag[ETAG_BYTES];

	stat_etag(sb, etag);
	jw_int(w, "mtime", stat_mtime_ms(sb));
	jw_str(w, "etag", etag);
}

void time_put(struct jw *w, const char *key, const struct timespec *t)
{
	char text[64];
	struct tm tm;
	size_t n;

	gmtime_r(&t->tv_sec, &tm);
	n = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + n, sizeof(text) - n, ".%03ldZ", t->tv_nsec / 1000000);
	jw_str(w, key, text);
}

void content_put(struct jw *w, const char *key, struct slice bytes, bool base64)
{
	_cleanup_(buf_done) struct buf text = { .max = 2 * bytes.n + 16 };

	base64 |= !utf8_valid(bytes);
	if (base64)
		base64_encode(bytes, &text);
	jw_slice(w, key, base64 ? buf_slice(&text) : bytes);
	jw_str(w, "encoding", base64 ? "base64" : "utf-8");
}

void name_put(struct jw *w, const char *key, const char *name)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	char other[40];

	jw_str(w, key, name);
	if (utf8_valid(slice_of(name)))
		return;
	snprintf(other, sizeof(other), "%sBase64", key);
	base64_encode(slice_of(name), &text);
	jw_slice(w, other, buf_slice(&text));
}

char *link_target(int dir, const char *name)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(dir, name, text, sizeof(text));

	/* readlinkat(2) does not append a NUL. */
	return n < 0 ? NULL : xstrndup(text, (size_t)n);
}

int version_check(const struct builtin_call *c, const struct stat *sb, const char *path,
		  struct err *e)
{
	struct jval etag = tool_arg(c, "expectedEtag"), mtime = tool_arg(c, "expectedMtime");
	char now[ETAG_BYTES] = "";
	bool same = true;

	if (sb)
		stat_etag(sb, now);
	if (mtime.type == J_NUMBER || mtime.type == J_STRING)
		same = sb && tool_arg_int(c, "expectedMtime", -1) == stat_mtime_ms(sb);
	if (same && etag.type == J_STRING)
		same = sb && jstr_is(etag, now);
	if (same)
		return 0;
	err_field(e, "path", "ESTALE", "%.120s has changed since it was read", path);
	return -ESTALE;
}
