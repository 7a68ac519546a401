#include "unpack/snapshot/packer.h"

#include "base/limits.h"
#include "base/util.h"

#include <zstd.h>

#define LEVEL 1
#define LEAST 128 /* bytes: the frame of a smaller one saves nothing worth the time */
#define SAMPLE (64 * KIB)
#define SAVED_PART 8 /* a frame has to save one of so many bytes */

void *packer_ready(struct packer *p)
{
	if (!p->zstd) {
		p->zstd = ZSTD_createCCtx();
		if (p->zstd)
			ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, LEVEL);
	} else {
		ZSTD_CCtx_reset(p->zstd, ZSTD_reset_session_only);
	}
	return p->zstd;
}

void packer_pack(struct packer *p, struct slice content, struct packed *ret)
{
	size_t room = content.n - content.n / SAVED_PART, n;

	ret->bytes = content;
	buf_reset(&ret->frame);
	ret->frame.max = SNAPSHOT_FILE_MAX;
	if (content.n < LEAST || !packer_ready(p) || buf_reserve(&ret->frame, room) < 0)
		return;
	n = ZSTD_compress2(p->zstd, ret->frame.data, room, content.p, content.n);
	if (ZSTD_isError(n)) /* does not fit */
		return;
	ret->frame.len = n;
	ret->bytes = buf_slice(&ret->frame);
}

bool packer_pays(struct packer *p, struct slice content)
{
	struct packed part = { .bytes = SLICE_NONE };
	bool pays;

	packer_pack(p, (struct slice){ content.p, MIN(content.n, (size_t)SAMPLE) }, &part);
	pays = part.frame.len > 0;
	buf_done(&part.frame);
	return pays;
}

void packer_done(struct packer *p)
{
	ZSTD_freeCCtx(p->zstd);
	p->zstd = NULL;
}
