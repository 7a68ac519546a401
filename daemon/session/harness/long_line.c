/*
 * long_line.c - what a thread finds in a long line of a harness: where its long values end, whether a secret is in it, and
 * the text without halves of surrogate pairs. Nothing of it changes what the loop makes of the line.
 */
#include "session/session_internal.h"

#include "json/jknown.h"
#include "json/jstr.h"

struct long_line {
	struct slice line, text; /* text: the line, or its repaired copy */
	struct mask *mask;
	struct mask_known secrets;
	struct jknown values, line_values;
	struct buf copy;
	size_t repairs;
};

static void *begin(void *ctx, struct slice line)
{
	struct session *s = ctx;
	struct long_line *l = new0(struct long_line);

	l->line = l->text = line;
	l->mask = mask_ref(s->secrets.known.mask);
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

static int on_line(void *ctx, struct slice line, void *work)
{
	struct session *s = ctx;
	struct long_line *l = work;
	int r;

	jknown_use(&l->line_values);
	mask_use(&l->secrets);
	s->harness.long_line = l;
	r = harness_on_line(s, line);
	s->harness.long_line = NULL;
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
	mask_free(l->mask);
	free(l);
}

const struct proc_prescan harness_prescan = { begin, run, on_line, end };
