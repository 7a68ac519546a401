/*
 * viewer.c - the files of the run viewer, how they are opened, and the headers of each reply.
 *
 * A path of a request is only compared with the list, so it never becomes a path on disk. Only
 * regular files up to VIEWER_FILE_MAX are opened, without following a link at the last component.
 * The content security policy lets the page load and contact its own origin only, and forbids
 * framing.
 */
#include "http/viewer.h"

#include "base/limits.h"
#include "base/os/file.h"

/* From the folder of the executable: where it is installed, and where make ui builds it. */
static const char *const beside[] = { "../share/acpd/ui", "../ui" };

static const struct viewer_file files[] = {
	{ "/ui/", "text/html; charset=utf-8", "index.html", NULL },
	{ "/ui/app.js", "text/javascript; charset=utf-8", "app.js", "app.js.gz" },
	{ "/ui/app.css", "text/css; charset=utf-8", "app.css", "app.css.gz" },
};

const struct http_header viewer_headers[] = {
	{ "Cache-Control:", "no-cache" },
	{ "Vary:", "Accept-Encoding" },
	{ "Content-Security-Policy:",
	  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
	  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" },
	{ "X-Content-Type-Options:", "nosniff" },
	{ "Referrer-Policy:", "no-referrer" },
	{ "Cross-Origin-Opener-Policy:", "same-origin" },
	{ "Cross-Origin-Resource-Policy:", "same-origin" },
	{ 0 },
};

char *viewer_dir(const char *named)
{
	_cleanup_(freep) char *self = named ? NULL : file_own_program();

	if (named)
		return xstrdup(named);
	if (!self)
		return NULL;
	*strrchr(self, '/') = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(beside); i++) {
		_cleanup_(freep) char *dir = file_join(self, beside[i]),
				      *index = file_join(dir, "index.html");

		if (access(index, R_OK) == 0)
			return TAKE_PTR(dir);
	}
	return file_join(self, beside[0]);
}

const struct viewer_file *viewer_find(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (strcmp(files[i].path, path) == 0)
			return &files[i];
	return NULL;
}

/* A regular file, however it came to be there. */
static int open_regular(const char *dir, const char *name, struct stat *st)
{
	_cleanup_(freep) char *path = dir && name ? file_join(dir, name) : NULL;
	/* O_NONBLOCK: a FIFO must not block before its type is checked. */
	_cleanup_(closep) int fd =
		path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;

	if (fd < 0 || fstat(fd, st) < 0 || !S_ISREG(st->st_mode) || st->st_size < 1 ||
	    st->st_size > (off_t)VIEWER_FILE_MAX)
		return -1;
	return TAKE_FD(fd);
}

/* A file that is replaced has another time or size. */
static void put_etag(struct viewer_open *o, const struct stat *st)
{
	/* The compressed form is another representation, so it needs a tag of its own (RFC 9110, section
	 * 8.8.3). */
	snprintf(o->etag, sizeof(o->etag), "\"%llx-%llx.%lx%s\"", (unsigned long long)st->st_size,
		 (unsigned long long)st->st_mtim.tv_sec, (unsigned long)st->st_mtim.tv_nsec,
		 o->packed ? "-gz" : "");
}

bool viewer_open(const char *dir, const struct viewer_file *f, bool gzip, struct viewer_open *ret)
{
	struct stat st;

	*ret = (struct viewer_open){ .fd = gzip ? open_regular(dir, f->packed, &st) : -1 };
	ret->packed = ret->fd >= 0;
	if (!ret->packed)
		ret->fd = open_regular(dir, f->name, &st);
	if (ret->fd < 0)
		return false;
	ret->size = (uint64_t)st.st_size;
	put_etag(ret, &st);
	return true;
}
