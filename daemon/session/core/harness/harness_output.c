/*
 * harness_output.c - what a harness writes to its stdout: messages go to the adapter; what else stands there is skipped,
 * counted, and shown in the log by its first bytes.
 */
#include "session/core/session_internal.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "json/jstr.h"
#include "proc/output/frames.h"
#include "session/core/redact/redact_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

struct odd_line {
	struct session *s;
	struct err *e;
	int fault; /* of a message in it */
};

void harness_log_odd(struct session *s, const char *what, struct slice line)
{
	const struct noise_counts *n = &s->harness.noise.lines;
	struct noise_text first;
	char skipped[24], cleaned[24];

	if (!noise_shown(&s->harness.noise, clock_mono_ms()))
		return;
	snprintf(skipped, sizeof(skipped), "%" PRIu64, n->skipped);
	snprintf(cleaned, sizeof(cleaned), "%" PRIu64, n->cleaned);
	noise_text_set(&first, line);
	session_mask_line(s, first.text, sizeof(first.text));
	first.text[NOISE_SHOWN] = '\0';
	log_warn("session", what, "session", s->id, "harness", s->def->id, "text", first.text,
		 "skipped", skipped, "cleaned", cleaned);
}

/* Text that holds halves of surrogate pairs once more, with U+FFFD in their place. */
static int feed_repaired(struct session *s, struct slice line, struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct slice repaired;
	size_t repairs;
	int r = -EILSEQ;

	if (!long_line_repaired(s, line, &repairs, &repaired)) {
		repairs = jstr_repair(line, &b);
		repaired = buf_slice(&b);
	}
	session_text_repaired(s, TEXT_OF_HARNESS, repairs);
	if (!b.failed)
		r = s->def->ops->on_line(s->harness.adapter, repaired, e);
	if (r == -EILSEQ)
		err_set(e, r, RPC_INTERNAL_ERROR, "HARNESS_PROTOCOL",
			"the harness wrote a line that is not Unicode and cannot be repaired");
	return r;
}

static int feed(struct session *s, struct slice line, struct err *e)
{
	int r = s->def->ops->on_line(s->harness.adapter, line, e);

	return r == -EILSEQ ? feed_repaired(s, line, e) : r;
}

static int take_frame(void *ctx, struct slice frame)
{
	struct odd_line *o = ctx;
	struct session *s = o->s;
	int r;

	if (!s->harness.adapter || s->harness.state == H_STOPPING)
		return -ECANCELED;
	r = feed(s, frame, o->e);
	o->fault = MIN(r, 0);
	return r;
}

static int skip_line(struct session *s, struct slice line, struct err *e)
{
	bool few = noise_skipped(&s->harness.noise, line.n, clock_mono_ms());

	proc_host_noise(s->store->procs, NOISE_HARNESS)->skipped++;
	harness_log_odd(s, "harness output skipped", line);
	return few ? 0 :
		     err_set(e, -EPROTO, RPC_INTERNAL_ERROR, "HARNESS_PROTOCOL",
			     "the harness wrote too many lines that are not messages "
			     "(%d a minute are accepted): its log belongs on stderr",
			     NOISE_MINUTE_MAX);
}

static void count_cleaned(struct session *s, struct slice line)
{
	s->harness.noise.lines.cleaned++;
	proc_host_noise(s->store->procs, NOISE_HARNESS)->cleaned++;
	harness_log_odd(s, "harness output cleaned", line);
}

/* A line that is not a message as it is. */
static int take_odd_line(struct session *s, struct slice line, struct err *e)
{
	struct odd_line o = { s, e, 0 };

	switch (frames_take(line, take_frame, &o)) {
	case FRAMES_TAKEN:
		count_cleaned(s, line);
		return o.fault;
	case FRAMES_BROKEN:
		harness_log_odd(s, "harness message broken", line);
		return err_set(e, -EPROTO, RPC_INTERNAL_ERROR, "HARNESS_PROTOCOL",
			       "the harness wrote a message that cannot be parsed");
	default:
		return skip_line(s, line, e);
	}
}

int harness_on_line(void *ctx, struct slice line)
{
	struct session *s = ctx;
	struct err e __attribute__((
		uninitialized)); /* on_line fills it where it fails; wiping it cost as much as to scan a line */
	int r;

	if (!s->harness.adapter || s->harness.state == H_STOPPING)
		return 0;
	r = feed(s, line, &e);
	if (r > 0)
		r = take_odd_line(s, line, &e);
	if (r >= 0)
		return 0;
	e = session_mask_err(s, &e);
	log_warn("session", "harness protocol fault", "session", s->id, "text", e.msg);
	harness_broken(s, "harness_protocol", &e);
	return -EPROTO;
}

/* A last message needs no newline. One that was cut off says less than the exit does. */
void harness_on_rest(void *ctx, struct slice rest)
{
	struct session *s = ctx;
	struct err e;
	struct odd_line o = { s, &e, 0 };

	if (!s->harness.adapter || s->harness.state == H_STOPPING || feed(s, rest, &e) <= 0)
		return;
	if (frames_take(rest, take_frame, &o) == FRAMES_TAKEN)
		count_cleaned(s, rest);
	else
		skip_line(s, rest, &e);
}
