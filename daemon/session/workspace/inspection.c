#include "session/workspace/inspection.h"

#include <errno.h>

static void on_done(void *ctx, struct slice report, const struct err *e)
{
	struct inspection *k = ctx;
	struct session *s = k->session;

	k->ended(k, report, e); /* k is gone after */
	store_check_stopped(s->store);
	session_advance(s);
}

static const struct helper_job_events events = { NULL, on_done };

int inspection_start(struct inspection *k, struct session *s, const char *verb, struct slice job,
		     void (*ended)(struct inspection *k, struct slice report, const struct err *e),
		     struct err *e)
{
	k->session = s;
	k->ended = ended;
	k->helper = helper_job_start(s->store->loop, s->store->procs,
				     &(struct helper_job_spec){ verb, job, 0 }, &events, k, e);
	if (!k->helper)
		return -EIO;
	list_add_tail(&s->workspace.inspections, &k->link);
	activity_note(s);
	return 0;
}

void inspection_done(struct inspection *k)
{
	list_del(&k->link);
	helper_job_free(k->helper);
}

bool inspections_running(const struct session *s)
{
	return !list_empty(&s->workspace.inspections);
}

void inspections_abort(struct session *s)
{
	list_each(k, &s->workspace.inspections, struct inspection, link)
		helper_job_abort(k->helper);
}
