/*
 * patchfile.c - writes a patch file by file, up to its limit.
 *
 * patch_append is transactional, so a file that does not fit leaves nothing behind. After the first one no other is tried,
 * also if it is smaller: the patch is then complete up to that path, which is what readers of it are told.
 */
#include "unpack/snapshot/patchfile.h"

#include "base/os/file.h"

#include <errno.h>

#define KEEP (1 * MIB)

void patchfile_init(struct patchfile *p, int fd, uint64_t max)
{
	*p = (struct patchfile){ .fd = fd, .max = max };
}

void patchfile_done(struct patchfile *p)
{
	buf_done(&p->out);
}

void patchfile_report(struct jw *w, uint64_t bytes, const struct patch_stat *stat)
{
	jw_obj(w, "patch");
	jw_uint(w, "bytes", bytes);
	jw_uint(w, "files", stat->files);
	jw_uint(w, "insertions", stat->insertions);
	jw_uint(w, "deletions", stat->deletions);
	jw_end_obj(w);
}

int patchfile_put(struct patchfile *p, const char *path, const struct diff_side *from,
		  const struct diff_side *to)
{
	struct patch_options options = { .context = DIFF_CONTEXT_LINES };
	int r;

	if (p->full)
		return 1;
	p->out.max = p->max - p->bytes;
	r = p->out.max ? patch_append(&p->out, path, from, to, &options, &p->stat) : -E2BIG;
	if (r == -E2BIG || r == -EFBIG) {
		p->full = true;
		return 1;
	}
	if (r < 0)
		return r;
	p->bytes += p->out.len;
	r = file_write_all(p->fd, p->out.data, p->out.len);
	buf_reset(&p->out);
	buf_trim(&p->out, KEEP);
	return r;
}
