/*
 * check_evidence.c - encodes the outcome of one check as bounded JSON, without secrets.
 *
 * Output of a check is untrusted. The order is fixed: mask the whole text, then cut it. A cut first
 * could leave part of a secret that the mask no longer recognizes. The cut counts bytes as they are
 * escaped in JSON, so the result fits into a ledger record for any text. It starts at a UTF-8
 * character.
 */
#include "session/parts/check/check_internal.h"

#include "session/core/session_internal.h"
#include "session/core/redact/redact_internal.h"

void check_evidence_done(struct check_evidence *v)
{
	buf_done(&v->changed);
	buf_done(&v->offending);
	buf_done(&v->out.text);
	buf_done(&v->err.text);
	buf_done(&v->failures);
	*v = (struct check_evidence){ 0 };
}

/* Bytes that jw_slice writes for c, at most: \u00xx, an escaped character, or itself. */
static size_t width_in_json(unsigned char c)
{
	return c < 0x20 ? 6 : c == '"' || c == '\\' ? 2 : 1;
}

/* As much of its end as takes max bytes in JSON, from a whole character on. The end is kept: it mostly says why. */
static struct slice fitting_end(struct slice text, size_t max)
{
	size_t at = text.n, used = 0;

	while (at && used + width_in_json((unsigned char)text.p[at - 1]) <= max)
		used += width_in_json((unsigned char)text.p[--at]);
	while (at < text.n && ((unsigned char)text.p[at] & 0xc0) == 0x80)
		at++;
	return slice_after(text, at);
}

static void put_check_text(const struct session *s, struct check_text *t, const char *tail,
			   const char *truncated, struct jw *w)
{
	size_t whole = buf_len(&t->text);
	struct slice shown;

	session_mask_rest(s, &t->text, t->cut);
	shown = fitting_end(buf_slice(&t->text), CHECK_TEXT_MAX);
	jw_slice(w, tail, (struct slice){ shown.p ? shown.p : "", shown.n });
	/* of what it wrote: how much is hidden in it says nothing about that */
	if (t->cut || shown.n < buf_len(&t->text))
		jw_uint(w, truncated, t->dropped + (whole > shown.n ? whole - shown.n : 0));
}

static void put_check_end(const struct check_evidence *v, struct jw *w)
{
	if (!v->ended)
		return;
	if (v->by_signal)
		jw_str(w, "signal", v->signal);
	else
		jw_int(w, "exitCode", v->exit_code);
	if (v->left)
		jw_uint(w, "leftBehind", v->left);
}

/* The elements of failures have been bounded one by one (check_answer.c); they are masked here as a whole. */
static void put_tests(const struct session *s, const struct check_evidence *v, struct jw *w)
{
	_cleanup_(buf_done) struct buf list = { 0 }, hidden = { 0 };

	if (!v->tests)
		return;
	jw_obj(w, "tests");
	jw_int(w, "passed", v->passed);
	jw_int(w, "failed", v->failed);
	jw_int(w, "skipped", v->skipped);
	if (v->partial)
		jw_bool(w, "partial", true);
	buf_putc(&list, '[');
	buf_add_slice(&list, buf_slice(&v->failures));
	buf_putc(&list, ']');
	jw_raw(w, "failures", session_mask_json(s, buf_slice(&list), false, NULL, &hidden));
	if (v->more_failures)
		jw_uint(w, "moreFailures", v->more_failures);
	jw_end_obj(w);
}

static void put_paths(const struct session *s, const char *key, const char *total,
		      const struct buf *paths, uint64_t n, struct jw *w)
{
	_cleanup_(buf_done) struct buf list = { 0 }, hidden = { 0 };

	buf_putc(&list, '[');
	buf_add_slice(&list, buf_slice(paths));
	buf_putc(&list, ']');
	/* n counts all of them, also those for which the list had no space. */
	jw_raw(w, key, session_mask_json(s, buf_slice(&list), false, NULL, &hidden));
	jw_uint(w, total, n);
}

static void put_judged(const struct session *s, const struct check_spec *c,
		       const struct check_evidence *v, struct jw *w)
{
	if (!v->judged)
		return;
	if (c->kind == CHECK_PATHS) {
		put_paths(s, "offending", "offendingTotal", &v->offending, v->offending_total, w);
		return;
	}
	jw_obj(w, "counts");
	for (int i = 0; i < CHECK_LIMIT_MAX; i++)
		jw_int(w, check_limit_names[i], v->counts[i]);
	jw_end_obj(w);
}

/* null: nobody can tell. */
static void put_changed(const struct session *s, const struct check_evidence *v, struct jw *w)
{
	/* Only a command or tests change anything. */
	if (!v->ended && !v->compared)
		return;
	if (!v->compared) {
		jw_null(w, "changed");
		return;
	}
	jw_obj(w, "changed");
	put_paths(s, "paths", "total", &v->changed, v->changed_total, w);
	jw_end_obj(w);
}

static void put_check_error(const struct session *s, const struct check_evidence *v, struct jw *w)
{
	struct err own = session_mask_err(s, &v->error);

	if (!*own.reason)
		return;
	jw_object(w, "error", JW_STR("reason", own.reason), JW_STR("message", own.msg));
}

void check_evidence_put(const struct session *s, const struct check_spec *c,
			struct check_evidence *v, struct jw *w)
{
	jw_bool(w, "ok", v->ok);
	put_check_end(v, w);
	jw_uint(w, "durationMs", v->ms);
	if (v->tests) {
		put_check_text(s, &v->out, "outputTail", "outputTruncated", w);
	} else if (v->ended) {
		put_check_text(s, &v->out, "stdoutTail", "stdoutTruncated", w);
		put_check_text(s, &v->err, "stderrTail", "stderrTruncated", w);
	}
	put_tests(s, v, w);
	put_judged(s, c, v, w);
	put_changed(s, v, w);
	put_check_error(s, v, w);
}
