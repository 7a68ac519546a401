/*
 * notes.c - what happens around the model calls: retries, compaction, the queue, the title.
 *
 * Pi gives a compaction no id, so it gets one here at its first sign, which its end uses and then forgets.
 */
#include "harnesses/pi/internal.h"

#include "base/os/file.h"
#include "json/json.h"

/* text: the description, raw, or nothing */
void pi_notice(struct harness *h, const char *severity, const char *title, struct jval text)
{
	harness_emit(&h->host, UPDATE_NOTICE, JW_STR("severity", severity), JW_STR("title", title),
		     JW_RAW("description", text.type == J_STRING ? text.raw : SLICE_NONE));
}

/* The end of a retry is not reported: the answer or the turn's error follows. */
void pi_on_retry(struct harness *h, const struct pi_record *r)
{
	char title[120];

	snprintf(title, sizeof(title), "Retry %lld of %lld in %lld ms",
		 (long long)jobj_int(r->line, "attempt"),
		 (long long)jobj_int(r->line, "maxAttempts"),
		 (long long)jobj_int(r->line, "delayMs"));
	pi_notice(h, "warning", title, jobj_get(r->line, "errorMessage"));
}

void pi_on_extension_error(struct harness *h, const struct pi_record *r)
{
	pi_notice(h, "error", "An extension of Pi failed", jobj_get(r->line, "error"));
}

/* --- compaction -------------------------------------------------------------------------------------- */

static void put_compaction(struct harness *h, struct jw *w, const char *status)
{
	/* An end without a start gets an id as well. */
	if (!*h->compaction)
		snprintf(h->compaction, sizeof(h->compaction), "c%s", RANDOM_HEX(8));
	harness_update_open(w, UPDATE_COMPACTION);
	jw_str(w, "compactionId", h->compaction);
	jw_str(w, "status", status);
}

void pi_on_compaction_start(struct harness *h, const struct pi_record *r _unused_)
{
	JW_BUF(w, b);

	/* A start whose end never came must not lend its id. */
	h->compaction[0] = '\0';
	put_compaction(h, &w, "in_progress");
	jw_end_obj(&w);
	harness_send_update(&h->host, UPDATE_COMPACTION, &b);
}

static void put_compaction_summary(struct jw *w, struct jval summary)
{
	if (summary.type != J_STRING)
		return;
	jw_arr(w, "summary");
	jw_object(w, NULL, JW_STR("type", "text"), JW_RAW("text", summary.raw));
	jw_end_arr(w);
}

void pi_on_compaction_end(struct harness *h, const struct pi_record *r)
{
	JW_BUF(w, b);
	struct slice result = r->m[M_RESULT].v.raw;
	struct jval error = jobj_get(r->line, "errorMessage");
	bool aborted = jobj_get(r->line, "aborted").type == J_TRUE;
	bool has_result = r->m[M_RESULT].v.type == J_OBJECT;

	put_compaction(h, &w, aborted ? "cancelled" : has_result ? "completed" : "failed");
	put_compaction_summary(&w, jobj_get(result, "summary"));
	if (error.type == J_STRING)
		jw_raw(&w, "error", error.raw);
	jw_end_obj(&w);
	harness_send_update(&h->host, UPDATE_COMPACTION, &b);
	h->compaction[0] = '\0';
	pi_usage(h, jobj_get(result, "usage").raw, SLICE("{}"), "compaction_end.result.usage");
	pi_ask_stats(h);
}

/* --- session ------------------------------------------------------------------------------------------ */

static struct slice raw_or(struct jval v, enum jtype type, const char *other)
{
	return v.type == type ? v.raw : slice_of(other);
}

/* ACP has no queue: it is sent with the session's info. */
void pi_on_queue(struct harness *h, const struct pi_record *r)
{
	struct jval steering = jobj_get(r->line, "steering"), later = jobj_get(r->line, "followUp");
	bool queued = steering.raw.n > 2 || later.raw.n > 2, before = h->queued;

	h->queued = queued;
	/* An empty queue is reported once, when it has become empty. */
	if (!queued && !before)
		return;
	harness_emit(&h->host, UPDATE_INFO,
		     JW_OBJ("_meta",
			    JW_OBJ("pi", JW_RAW("steering", raw_or(steering, J_ARRAY, "[]")),
				   JW_RAW("followUp", raw_or(later, J_ARRAY, "[]")))));
}

void pi_on_title(struct harness *h, const struct pi_record *r)
{
	harness_emit(&h->host, UPDATE_INFO,
		     JW_RAW("title", raw_or(jobj_get(r->line, "name"), J_STRING, "null")));
}
