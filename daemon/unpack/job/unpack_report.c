/*
 * unpack_report.c - the lines of JSON that acpd-unpack answers with.
 *
 * The daemon believes the last line and the exit code together, so report_verdict and report_exit are derived from the
 * same verdict.
 */
#include "unpack/job/unpack_report.h"

#include "base/os/file.h"
#include "json/jenc.h"

void report_verdict(struct buf *b, const struct verdict *v)
{
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_obj(&w, v->kind == VERDICT_REFUSED ? "refused" : "failed");
	jw_str(&w, "reason", v->reason);
	if (v->path[0])
		jw_str(&w, "path", v->path);
	jw_str(&w, "message", v->message);
	if (v->digest[0])
		jw_str(&w, "digest", v->digest);
	if (v->has_limit) {
		jw_uint(&w, "limit", v->limit);
		jw_uint(&w, "used", v->used);
	}
	jw_end_obj(&w);
	jw_end_obj(&w);
	buf_putc(b, '\n');
}

enum unpack_exit report_exit(const struct verdict *v)
{
	static const enum unpack_exit codes[] = {
		[VERDICT_NONE] = UNPACK_DONE,
		[VERDICT_REFUSED] = UNPACK_REFUSED,
		[VERDICT_FAILED] = UNPACK_FAILED,
		[VERDICT_BAD_JOB] = UNPACK_BAD_JOB,
	};

	return codes[v->kind];
}

enum unpack_exit report_print(const struct verdict *v)
{
	_cleanup_(buf_done) struct buf line = { 0 };

	report_verdict(&line, v);
	file_write_all(STDOUT_FILENO, line.data, line.len);
	return report_exit(v);
}

static void report_outcome(struct jw *w, const struct outcome *out)
{
	jw_uint(w, "written", out->written);
	jw_uint(w, "removed", out->removed);
	jw_uint(w, "unchanged", out->unchanged);
	jw_arr(w, "skipped");
	for (size_t i = 0; i < out->skipped_total && i < SKIPPED_MAX; i++)
		jw_object(w, NULL, JW_STR("path", out->skipped[i].path),
			  JW_STR("reason", out->skipped[i].reason));
	jw_end_arr(w);
	jw_uint(w, "skippedTotal", out->skipped_total);
}

void report_summary(struct buf *b, const char *word, const struct summary *s)
{
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_obj(&w, word);
	report_outcome(&w, &s->outcome);
	jw_str(&w, "manifestDigest", SHA256_TEXT_OF(&s->manifest));
	jw_uint(&w, "entries", s->entries);
	jw_uint(&w, "bytes", s->bytes);
	if (s->has_stripped)
		jw_uint(&w, "stripped", s->stripped);
	if (s->skills.n) {
		jw_arr(&w, "skills");
		jw_raw(&w, NULL, buf_slice(&s->skills.report));
		jw_end_arr(&w);
	}
	jw_end_obj(&w);
	jw_end_obj(&w);
	buf_putc(b, '\n');
}
