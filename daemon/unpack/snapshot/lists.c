/*
 * lists.c - the lists of paths in answers, as JSON that is written while the tree is walked, and the patch beside them.
 *
 * An agent decides how many paths there are and how long they are. So each list is bounded in entries and in bytes, and
 * only the total is exact. Patterns are matched here and not in the daemon, because a path can be made so that matching
 * takes long.
 *
 * The patch: patch_append is transactional, so a file that does not fit leaves nothing behind. After the first one no other is tried,
 * also if it is smaller: the patch is then complete up to that path, which is what readers of it are told.
 */
#include "unpack/snapshot/lists.h"

#include "base/os/file.h"
#include "base/strv.h"
#include "tree/glob.h"
#include "unpack/job/unpack_job.h"

#define OMITTED_BYTES (512 * KIB)
#define CHANGES_BYTES (1 * MIB)
#define OFFENDING_BYTES (8 * KIB)
#define MARK_SIZE 17 /* hex digits, and NUL */

/* Counts one more. True: it is to be added to w. */
static bool list_more(struct buf *json, uint64_t *total, uint64_t most, size_t bytes, struct jw *w)
{
	*w = (struct jw){ json, *total > 0 };
	return (*total)++ < most && buf_len(json) <= bytes;
}

void list_put(struct jw *w, const char *key, const struct buf *json, const char *total_key,
	      uint64_t total)
{
	jw_arr(w, key);
	buf_add_slice(w->b, buf_slice(json));
	jw_end_arr(w);
	jw_uint(w, total_key, total);
}

/* --- what is left out ----------------------------------------------------------------------------------- */

static const char *const reasons[OMIT_N] = {
	[OMIT_NOT] = "",
	[OMIT_TOO_LARGE] = "TOO_LARGE",
	[OMIT_STORE_FULL] = "STORE_FULL",
	[OMIT_UNREADABLE] = "UNREADABLE",
	[OMIT_CHANGING] = "CHANGING",
	[OMIT_FIFO] = "FIFO",
	[OMIT_SOCKET] = "SOCKET",
	[OMIT_DEVICE] = "DEVICE",
	[OMIT_NAME_RESERVED] = "NAME_RESERVED",
	[OMIT_PATH_TOO_LONG] = "PATH_TOO_LONG",
	[OMIT_PATH_TOO_DEEP] = "PATH_TOO_DEEP",
	[OMIT_OTHER_FILE_SYSTEM] = "OTHER_FILE_SYSTEM",
	[OMIT_PATCH_TOO_LARGE] = "PATCH_TOO_LARGE",
	[OMIT_IGNORED] = "IGNORED",
};

const char *omit_word(enum omit_reason reason)
{
	return reasons[reason];
}

void omitted_add(struct omitted *o, const char *path, const char *reason)
{
	struct jw w;

	if (!list_more(&o->json, &o->total, SKIPPED_MAX, OMITTED_BYTES, &w))
		return;
	jw_object(&w, NULL, JW_STR("path", path), JW_STR("reason", reason));
}

void omitted_done(struct omitted *o)
{
	buf_done(&o->json);
}

/* --- what has changed ----------------------------------------------------------------------------------- */

void changes_init(struct changes *c, bool wanted)
{
	*c = (struct changes){ .wanted = wanted };
	if (wanted)
		sha256_begin(&c->state);
}

/* "": there is nothing. */
static void changes_mark(const struct index_entry *e, char mark[MARK_SIZE])
{
	char text[SHA256_HEX + 96], hex[SHA256_HEX];
	struct sha256 d;

	*mark = '\0';
	if (e->type == INDEX_NONE)
		return;
	sha256_hex(&e->digest, hex);
	if (e->type == INDEX_OMITTED)
		snprintf(text, sizeof(text), "%d %u %llu %lld %lld", e->type, e->mode,
			 (unsigned long long)e->size, (long long)e->mtime, (long long)e->ctime);
	else
		snprintf(text, sizeof(text), "%d %u %s", e->type, e->mode & S_IXUSR, hex);
	if (sha256_of(slice_of(text), &d) == 0)
		sha256_hex(&d, hex);
	snprintf(mark, MARK_SIZE, "%.16s", hex);
}

void changes_add(struct changes *c, const char *path, const struct index_entry *now)
{
	char mark[MARK_SIZE];
	struct jw w;

	if (!c->wanted)
		return;
	changes_mark(now, mark);
	sha256_add(&c->state, path, strlen(path) + 1);
	sha256_add(&c->state, mark, strlen(mark) + 1);
	if (!list_more(&c->json, &c->total, CHANGES_MAX, CHANGES_BYTES, &w))
		return;
	jw_arr(&w, NULL);
	jw_str(&w, NULL, path);
	jw_str(&w, NULL, mark);
	jw_end_arr(&w);
}

void changes_state(struct changes *c, char out[SHA256_HEX])
{
	struct sha256 d;

	sha256_end(&c->state, &d);
	sha256_hex(&d, out);
}

void changes_put(struct changes *c, struct jw *w)
{
	char state[SHA256_HEX];

	changes_state(c, state);
	list_put(w, "changes", &c->json, "changesTotal", c->total);
	jw_str(w, "state", state);
}

void changes_done(struct changes *c)
{
	buf_done(&c->json);
}

/* --- what breaks rules ---------------------------------------------------------------------------------- */

int offending_init(struct offending *o, struct slice allow, struct slice deny)
{
	int r;

	*o = (struct offending){ .wanted = allow.n || deny.n, .allows = allow.n > 0 };
	r = job_strings(allow, CHECK_PATTERNS_MAX, PATH_BYTES_MAX, &o->allow, &o->nallow);
	if (r == 0)
		r = job_strings(deny, CHECK_PATTERNS_MAX, PATH_BYTES_MAX, &o->deny, &o->ndeny);
	return r < 0 ? -EINVAL : 0;
}

static bool offending_matches(char *const *patterns, size_t n, const char *path)
{
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; i < n; i++) {
		bool by_name = slash && !strchr(patterns[i], '/');

		if (glob_match(slice_of(patterns[i]), slice_of(by_name ? slash + 1 : path), true))
			return true;
	}
	return false;
}

void offending_add(struct offending *o, const char *path)
{
	struct jw w;

	if (!o->wanted || (!offending_matches(o->deny, o->ndeny, path) &&
			   (!o->allows || offending_matches(o->allow, o->nallow, path))))
		return;
	if (list_more(&o->json, &o->total, UINT64_MAX, OFFENDING_BYTES - 1, &w))
		jw_str(&w, NULL, path);
}

void offending_done(struct offending *o)
{
	strv_free_n(o->allow, o->nallow);
	strv_free_n(o->deny, o->ndeny);
	buf_done(&o->json);
	*o = (struct offending){ 0 };
}

/* --- the patch -------------------------------------------------------------------------------------------- */

#define PATCH_KEEP (1 * MIB)

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
	jw_object(w, "patch", JW_UINT("bytes", bytes), JW_UINT("files", stat->files),
		  JW_UINT("insertions", stat->insertions), JW_UINT("deletions", stat->deletions));
}

/* The buffer's limit is what is left of the patch: patch_append then leaves a file out whole. */
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
	buf_trim(&p->out, PATCH_KEEP);
	return r;
}
