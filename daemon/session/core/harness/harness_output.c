/*
 * harness_output.c - what a harness writes to its stdout: messages go to the adapter; everything else is skipped,
 * counted, and shown in the log by its first bytes.
 *
 * A thread reads a long line first: where its long values end, whether a secret is in it, and the text without halves of
 * surrogate pairs. The result is the same without it; the loop only gets there sooner. The thread also touches the memory
 * for the event: to get 16 MiB of it from the kernel takes the loop as long as to fill it.
 */
#include "session/core/session_internal.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "json/jstr.h"
#include "proc/output/frames.h"
#include "session/core/redact/redact_internal.h"
#include "json/jknown.h"

#include <inttypes.h>

struct long_line {
	struct slice line, text; /* text: the line, or its repaired copy */
	struct mask *mask;
	struct mask_known secrets;
	struct jknown values, line_values;
	struct buf copy, event; /* event: memory for the event of the line */
	size_t repairs;
};

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
	/* Masked before it is cut: half of a secret would not be recognized. */
	session_mask_line(s, first.text, sizeof(first.text));
	first.text[NOISE_SHOWN] = '\0';
	log_warn("session", what, "session", s->id, "harness", s->def->id, "text", first.text,
		 "skipped", skipped, "cleaned", cleaned);
}

/* The line that the loop works on now, with U+FFFD for each half of a surrogate pair, whose number goes to *repairs. False: the
 * thread has made no such copy. */
static bool long_line_repaired(const struct session *s, struct slice line, size_t *repairs,
			       struct slice *ret)
{
	struct long_line *l = s->harness.long_line;

	if (!l || line.p != l->line.p || l->text.p == line.p)
		return false;
	jknown_use(&l->values);
	*repairs = l->repairs;
	*ret = l->text;
	return true;
}

/* Text that holds halves of surrogate pairs once more, with U+FFFD in their place. */
static int line_feed_repaired(struct session *s, struct slice line, struct err *e)
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

static int line_feed(struct session *s, struct slice line, struct err *e)
{
	int r = s->def->ops->on_line(s->harness.adapter, line, e);

	/* A line is repaired only after the parser has refused it: the repair costs a copy. */
	return r == -EILSEQ ? line_feed_repaired(s, line, e) : r;
}

static int line_take_frame(void *ctx, struct slice frame)
{
	struct odd_line *o = ctx;
	struct session *s = o->s;
	int r;

	/* A frame before it on the same line may have ended the harness. */
	if (!s->harness.adapter || s->harness.state == H_STOPPING)
		return -ECANCELED;
	r = line_feed(s, frame, o->e);
	o->fault = MIN(r, 0);
	return r;
}

static int line_skip(struct session *s, struct slice line, struct err *e)
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

static void line_count_cleaned(struct session *s, struct slice line)
{
	s->harness.noise.lines.cleaned++;
	proc_host_noise(s->store->procs, NOISE_HARNESS)->cleaned++;
	harness_log_odd(s, "harness output cleaned", line);
}

/* A line that is not a message as it is. */
static int line_take_odd(struct session *s, struct slice line, struct err *e)
{
	struct odd_line o = { s, e, 0 };

	switch (frames_take(line, line_take_frame, &o)) {
	case FRAMES_TAKEN:
		line_count_cleaned(s, line);
		return o.fault;
	case FRAMES_BROKEN:
		harness_log_odd(s, "harness message broken", line);
		return err_set(e, -EPROTO, RPC_INTERNAL_ERROR, "HARNESS_PROTOCOL",
			       "the harness wrote a message that cannot be parsed");
	default:
		return line_skip(s, line, e);
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
	r = line_feed(s, line, &e);
	if (r > 0)
		r = line_take_odd(s, line, &e);
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

	if (!s->harness.adapter || s->harness.state == H_STOPPING || line_feed(s, rest, &e) <= 0)
		return;
	if (frames_take(rest, line_take_frame, &o) == FRAMES_TAKEN)
		line_count_cleaned(s, rest);
	else
		line_skip(s, rest, &e);
}

/* --- long lines ----------------------------------------------------------------------------------------- */

static void *long_line_begin(void *ctx, struct slice line)
{
	struct session *s = ctx;
	struct long_line *l = new0(struct long_line);

	l->line = l->text = line;
	/* A reference: the session may get other secrets, and so another mask, while the thread runs. */
	l->mask = mask_ref(s->redact.known.mask);
	return l;
}

static void long_line_run(void *work)
{
	struct long_line *l = work;
	bool repair;

	if (jknown_scan(&l->line_values, l->line, &repair) == JSCAN_OK && repair) {
		l->repairs = jstr_repair(l->line, &l->copy);
		l->text = l->copy.failed ? l->line : buf_slice(&l->copy);
		jknown_scan(&l->values, l->text, &repair);
	}
	/* On the text that the adapter will parse: what is found is looked up by address. */
	mask_know(l->mask, l->text, &l->secrets);
	if (buf_reserve(&l->event, l->text.n + EVENT_AROUND) == 0)
		memset(l->event.data, 0, l->text.n + EVENT_AROUND);
}

/* The next event is encoded there. */
static void lend_memory(struct buf *scratch, struct buf *touched)
{
	struct buf old = *scratch;

	if (touched->cap <= old.cap)
		return;
	*scratch = (struct buf){ touched->data, 0, 0, touched->cap, old.max, false };
	*touched = (struct buf){ 0 };
	buf_done(&old);
}

static int long_line_take(void *ctx, struct slice line, void *work)
{
	struct session *s = ctx;
	struct long_line *l = work;
	int r;

	jknown_use(&l->line_values);
	mask_use(&l->secrets);
	lend_memory(&s->store->scratch, &l->event);
	/* Valid only within this call: line_feed_repaired takes the repaired copy from it. */
	s->harness.long_line = l;
	r = harness_on_line(s, line);
	s->harness.long_line = NULL;
	buf_trim(&s->store->scratch, LOG_BLOCK_MAX); /* if there was no event */
	mask_use(NULL);
	jknown_use(NULL);
	/* what follows may need the journal, and would wait for what a thread writes to it now */
	return r == 0 && s->log.events.large ? PRESCAN_KEPT : r;
}

static void long_line_end(void *work)
{
	struct long_line *l = work;

	jknown_done(&l->values);
	jknown_done(&l->line_values);
	buf_done(&l->copy);
	buf_done(&l->event);
	mask_free(l->mask);
	free(l);
}

const struct proc_prescan harness_prescan = { long_line_begin, long_line_run, long_line_take,
					      long_line_end };
