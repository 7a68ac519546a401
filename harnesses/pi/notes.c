/* notes.c - what happens around the model calls: retries, compaction, the queue, the title. */
#include "harnesses/pi/internal.h"

#include "base/os/file.h"
#include "json/jdec.h"
#include "json/jstr.h"

#include <stdio.h>

/* text: the description, raw, or nothing */
void pi_notice(struct harness *h, const char *severity, const char *title, struct jval text)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_str(&w, "sessionUpdate", "notice");
	jw_str(&w, "severity", severity);
	jw_str(&w, "title", title);
	if (text.type == J_STRING)
		jw_raw(&w, "description", text.raw);
	jw_end_obj(&w);
	pi_emit(h, UPDATE_NOTICE, &b);
}

/* The end of a retry is not reported: the answer or the turn's error follows. */
void pi_on_retry(struct harness *h, const struct pi_record *r)
{
	int64_t attempt = 0, of = 0, delay = 0;
	char title[120];

	jdec_int(jobj_get(r->line, "attempt"), &attempt);
	jdec_int(jobj_get(r->line, "maxAttempts"), &of);
	jdec_int(jobj_get(r->line, "delayMs"), &delay);
	snprintf(title, sizeof(title), "Retry %lld of %lld in %lld ms", (long long)attempt,
		 (long long)of, (long long)delay);
	pi_notice(h, "warning", title, jobj_get(r->line, "errorMessage"));
}

void pi_on_extension_error(struct harness *h, const struct pi_record *r)
{
	pi_notice(h, "error", "An extension of Pi failed", jobj_get(r->line, "error"));
}

/* --- compaction -------------------------------------------------------------------------------------- */

static void put_compaction(struct harness *h, struct jw *w, const char *status)
{
	char random[17];

	if (!*h->compaction) {
		random_hex(random, 8);
		snprintf(h->compaction, sizeof(h->compaction), "c%s", random);
	}
	jw_obj(w, NULL);
	jw_str(w, "sessionUpdate", "compaction_update");
	jw_str(w, "compactionId", h->compaction);
	jw_str(w, "status", status);
}

void pi_on_compaction_start(struct harness *h, const struct pi_record *r _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	h->compaction[0] = '\0';
	put_compaction(h, &w, "in_progress");
	jw_end_obj(&w);
	pi_emit(h, UPDATE_COMPACTION, &b);
}

static void put_summary(struct jw *w, struct jval summary)
{
	if (summary.type != J_STRING)
		return;
	jw_arr(w, "summary");
	jw_object(w, NULL, JW_STR("type", "text"), JW_RAW("text", summary.raw));
	jw_end_arr(w);
}

void pi_on_compaction_end(struct harness *h, const struct pi_record *r)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct slice result = r->m[M_RESULT].v.raw;
	struct jval error = jobj_get(r->line, "errorMessage");
	bool aborted = jobj_get(r->line, "aborted").type == J_TRUE;
	bool done = r->m[M_RESULT].v.type == J_OBJECT;
	struct jw w = JW(&b);

	put_compaction(h, &w, aborted ? "cancelled" : done ? "completed" : "failed");
	put_summary(&w, jobj_get(result, "summary"));
	if (error.type == J_STRING)
		jw_raw(&w, "error", error.raw);
	jw_end_obj(&w);
	pi_emit(h, UPDATE_COMPACTION, &b);
	h->compaction[0] = '\0';
	pi_usage(h, jobj_get(result, "usage").raw, SLICE("{}"), "compaction_end.result.usage");
	pi_ask_stats(h);
}

/* --- session ------------------------------------------------------------------------------------------ */

static void put_raw_or(struct jw *w, const char *key, struct jval v, enum jtype type,
		       struct slice other)
{
	jw_raw(w, key, v.type == type ? v.raw : other);
}

/* ACP has no queue: it is sent with the session's info. */
void pi_on_queue(struct harness *h, const struct pi_record *r)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jval steering = jobj_get(r->line, "steering"), later = jobj_get(r->line, "followUp");
	bool queued = steering.raw.n > 2 || later.raw.n > 2, before = h->queued;
	struct jw w = JW(&b);

	h->queued = queued;
	if (!queued && !before)
		return;
	jw_obj(&w, NULL);
	jw_str(&w, "sessionUpdate", "session_info_update");
	jw_obj(&w, "_meta");
	jw_obj(&w, "pi");
	put_raw_or(&w, "steering", steering, J_ARRAY, SLICE("[]"));
	put_raw_or(&w, "followUp", later, J_ARRAY, SLICE("[]"));
	jw_end_obj(&w);
	jw_end_obj(&w);
	jw_end_obj(&w);
	pi_emit(h, UPDATE_INFO, &b);
}

void pi_on_title(struct harness *h, const struct pi_record *r)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_str(&w, "sessionUpdate", "session_info_update");
	put_raw_or(&w, "title", jobj_get(r->line, "name"), J_STRING, SLICE("null"));
	jw_end_obj(&w);
	pi_emit(h, UPDATE_INFO, &b);
}
