#include "unpack/bytes/intact.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define PIECE (256 * KIB)

void intact_begin(struct intact *i, const struct sha256 *want)
{
	i->want = *want;
	i->at = 0;
	sha256_begin(&i->sum);
}

void intact_add(struct intact *i, const void *p, size_t n, uint64_t offset)
{
	if (offset != i->at)
		return;
	sha256_add(&i->sum, p, n);
	i->at += n;
}

static int hash_rest(struct intact *i, int fd, struct verdict *v)
{
	_cleanup_(freep) char *piece = xalloc(PIECE);
	ssize_t n;

	while ((n = pread(fd, piece, PIECE, (off_t)i->at)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail_with(v, -errno, NULL, "reading the archive");
		intact_add(i, piece, (size_t)n, i->at);
	}
	return 0;
}

void intact_blame(struct verdict *v, const struct sha256 *d)
{
	char hex[SHA256_HEX];

	sha256_hex(d, hex);
	snprintf(v->digest, sizeof(v->digest), "sha256:%s", hex);
}

int intact_end(struct intact *i, int fd, int r, struct verdict *v)
{
	struct sha256 got;
	int read;

	/* a failure of the machine does not prove that the archive is damaged */
	if (r < 0 && v->kind != VERDICT_REFUSED)
		return r;
	read = hash_rest(i, fd, v);
	sha256_end(&i->sum, &got);
	if (read < 0)
		return read;
	if (sha256_equal(&got, &i->want))
		return r;
	v->kind = VERDICT_NONE;
	v->has_limit = false;
	r = refuse(v, "ARCHIVE_DAMAGED", NULL,
		   "the stored archive is not as it was uploaded: its SHA-256 is another one");
	intact_blame(v, &i->want);
	return r;
}

bool intact_parse(const char *text, struct sha256 *ret)
{
	struct slice s = slice_of(text);

	return slice_skip(&s, "sha256:") && sha256_from_hex(s, ret) == 0;
}
