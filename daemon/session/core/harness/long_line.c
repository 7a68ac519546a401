/*
 * long_line.c - what a thread finds in a long line of a harness: where its long values end, whether a secret is in it, and
 * the text without halves of surrogate pairs. Nothing of it changes what the loop makes of the line. The thread also
 * touches memory for the event: to get 16 MiB of it from the kernel takes the loop as long as to fill it.
 */
#include "session/core/session_internal.h"

#include "base/limits.h"
#include "json/jknown.h"
#include "json/jstr.h"
#include "session/core/redact/redact_internal.h"

struct long_line {
	struct slice line, text; /* text: the line, or its repaired copy */
	struct mask *mask;
	struct mask_known secrets;
	struct jknown values, line_values;
	struct buf copy, event; /* event: memory for the event of the line */
	size_t repairs;
};

static void *begin(void *ctx, struct slice line)
{
	struct session *s = ctx;
	struct long_line *l = new0(struct long_line);

	l->line = l->text = line;
	l->mask = mask_ref(s->redact.known.mask);
	return l;
}

static void run(void *work)
{
	struct long_line *l = work;
	bool repair;

	if (jknown_scan(&l->line_values, l->line, &repair) == JSCAN_OK && repair) {
		l->repairs = jstr_repair(l->line, &l->copy);
		l->text = l->copy.failed ? l->line : buf_slice(&l->copy);
		jknown_scan(&l->values, l->text, &repair);
	}
	mask_know(l->mask, l->text, &l->secrets);
	if (buf_reserve(&l->event, l->text.n + EVENT_AROUND) == 0)
		memset(l->event.data, 0, l->text.n + EVENT_AROUND);
}

bool long_line_repaired(const struct session *s, struct slice line, size_t *repairs,
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

static int on_line(void *ctx, struct slice line, void *work)
{
	struct session *s = ctx;
	struct long_line *l = work;
	int r;

	jknown_use(&l->line_values);
	mask_use(&l->secrets);
	lend_memory(&s->store->scratch, &l->event);
	s->harness.long_line = l;
	r = harness_on_line(s, line);
	s->harness.long_line = NULL;
	buf_trim(&s->store->scratch, LOG_BLOCK_MAX); /* if there was no event */
	mask_use(NULL);
	jknown_use(NULL);
	/* what follows may need the journal, and would wait for what a thread writes to it now */
	return r == 0 && s->log.events.large ? PRESCAN_KEPT : r;
}

static void end(void *work)
{
	struct long_line *l = work;

	jknown_done(&l->values);
	jknown_done(&l->line_values);
	buf_done(&l->copy);
	buf_done(&l->event);
	mask_free(l->mask);
	free(l);
}

const struct proc_prescan harness_prescan = { begin, run, on_line, end };
