/* evlog_outline.c - what reading a whole journal would show of it, kept beside it, so that a later life need not. */
#include "session/core/log/evlog_internal.h"

#include "base/util.h"
#include "json/jdec.h"
#include "json/jenc.h"
#include "json/jstr.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

/* The last line of a journal ends with its checksum: these digits, and "\"}\n". */
#define CRC_DIGITS 8
#define CRC_END (CRC_DIGITS + 3)

struct journal_end {
	char crc[CRC_DIGITS + 1];
};

static int look_at_end(const struct evlog *l, off_t size, struct journal_end *ret)
{
	*ret = (struct journal_end){ "" };
	return pread(l->fd, ret->crc, CRC_DIGITS, size - CRC_END) == CRC_DIGITS ? 0 : -EIO;
}

static bool is_whole(const struct evlog *l)
{
	return l->path && !evlog_damaged(l) && !l->hole && !l->error && !l->large &&
	       !buf_len(&l->pending) && l->flushed == l->last && l->trim_next >= l->free_to &&
	       l->written > CRC_END;
}

/* Not all of a long index: readers go on from there line by line. */
static void put_index(const struct evlog *l, struct jw *w)
{
	size_t step = l->nindex / LOG_OUTLINE_INDEX + 1;

	jw_arr(w, "index");
	for (size_t i = 0; i < l->nindex; i += step) {
		jw_uint(w, NULL, l->index[i].seq);
		jw_uint(w, NULL, (uint64_t)l->index[i].offset);
	}
	jw_end_arr(w);
}

static void put_members(const struct evlog *l, const struct stat *sb, const char *crc, struct jw *w)
{
	jw_uint(w, "size", (uint64_t)l->written);
	jw_int(w, "sec", sb->st_mtim.tv_sec);
	jw_int(w, "nsec", sb->st_mtim.tv_nsec);
	jw_str(w, "end", crc);
	jw_uint(w, "last", l->last);
	jw_uint(w, "freed", (uint64_t)l->freed);
	jw_uint(w, "freeTo", (uint64_t)l->free_to);
	put_index(l, w);
}

bool evlog_outline_put(struct evlog *l, struct jw *w)
{
	struct journal_end end;
	struct stat sb;
	int r = is_whole(l) ? evlog_journal_get(l, 0) : -EBUSY;

	if (r == 0 && fstat(l->fd, &sb) < 0)
		r = -errno;
	if (r == 0 && sb.st_size != l->written)
		r = -ESTALE;
	if (r == 0)
		r = look_at_end(l, l->written, &end);
	if (r == 0)
		put_members(l, &sb, end.crc, w);
	if (l->path)
		evlog_journal_put(l);
	return r == 0;
}

/* Nobody has touched it since. */
static bool is_same(const struct evlog *l, struct slice outline)
{
	struct journal_end end;
	struct stat sb;
	int64_t sec = -1, nsec = -1;

	if (fstat(l->fd, &sb) < 0 || !S_ISREG(sb.st_mode) || sb.st_size <= CRC_END ||
	    (uint64_t)sb.st_size != jobj_uint(outline, "size"))
		return false;
	jdec_int(jobj_get(outline, "sec"), &sec);
	jdec_int(jobj_get(outline, "nsec"), &nsec);
	return sb.st_mtim.tv_sec == sec && sb.st_mtim.tv_nsec == nsec &&
	       look_at_end(l, sb.st_size, &end) == 0 && jstr_is(jobj_get(outline, "end"), end.crc);
}

static uint64_t next_uint(struct jiter *it)
{
	struct jval v;
	int64_t n = -1;

	return jiter_next(it, NULL, &v) && jdec_int(v, &n) == 0 && n >= 0 ? (uint64_t)n : 0;
}

static void load_index(struct evlog *l, struct jval list)
{
	struct jiter it;
	uint64_t seq;

	if (!jiter_init(&it, list))
		return;
	while ((seq = next_uint(&it)))
		evlog_index_add(l, seq, (off_t)next_uint(&it), true);
}

int evlog_outline_take(struct evlog *l, struct loop *loop, const char *path, size_t journal_max,
		       struct slice outline)
{
	int r = evlog_init(l, loop, path, journal_max, 0);

	if (r == 0 && !is_same(l, outline))
		r = -ESTALE;
	if (r < 0) {
		evlog_close(l);
		return r;
	}
	l->written = (off_t)jobj_uint(outline, "size");
	l->last = l->flushed = jobj_uint(outline, "last");
	l->tail_first = l->last + 1;
	l->freed = (off_t)jobj_uint(outline, "freed");
	l->free_to = l->trim_next = (off_t)jobj_uint(outline, "freeTo");
	load_index(l, jobj_get(outline, "index"));
	return 0;
}
