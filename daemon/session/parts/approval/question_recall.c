/*
 * question_recall.c - who answered the last questions of a session, and what its journal says of that to a later daemon.
 *
 * Answers are remembered in a ring by number: a question overwrites the one APPROVALS_REMEMBERED before it. So a late answer
 * is told who was first as long as the number in the slot is its own.
 *
 * While a journal is read, the list has questions without params. They cannot be shown or answered: they only say which
 * questions were open when the daemon ended. The end of their turn forgets them; if the turn has no end in the journal,
 * they are cancelled by events of their own.
 */
#include "session/core/session_internal.h"

#include "base/limits.h"
#include "json/json.h"
#include "session/parts/approval/approval_internal.h"

/* --- who answered --------------------------------------------------------------------------------------------------- */

void question_remember(struct session *s, uint64_t no, enum answered_by by, const char *detail)
{
	struct answered_question *slot;

	if (!approval_of(s)->answered)
		approval_of(s)->answered =
			xalloc(APPROVALS_REMEMBERED * sizeof(*approval_of(s)->answered));
	slot = &approval_of(s)->answered[no % APPROVALS_REMEMBERED];
	free(slot->detail);
	*slot = (struct answered_question){ no, by, xstrdup(detail) };
}

const struct answered_question *question_answered(const struct session *s, uint64_t no)
{
	const struct answered_question *slot = approval_of(s)->answered;

	if (slot)
		slot += no % APPROVALS_REMEMBERED;
	return slot && slot->no == no ? slot : NULL;
}

void questions_done(struct session *s)
{
	for (size_t i = 0; approval_of(s)->answered && i < APPROVALS_REMEMBERED; i++)
		free(approval_of(s)->answered[i].detail);
	free(approval_of(s)->answered);
	approval_of(s)->answered = NULL;
}

/* --- the journal ------------------------------------------------------------------------------------------------------ */

static void recall_asked(struct session *s, uint64_t no, struct slice event)
{
	struct session_question *a;

	/* An older daemon wrote no event when a question was withdrawn: the list would grow without limit. */
	if (approval_of(s)->nopen == SESSION_ASKS_MAX)
		question_forget(list_first(&approval_of(s)->open, struct session_question, link));
	a = question_new(s, no);
	a->elicitation = jobj_get(event, "elicitation").type == J_TRUE;
}

static void recall_answered(struct session *s, uint64_t no, struct slice event)
{
	struct session_question *a = question_find(s, no);
	_cleanup_(freep) char *detail = NULL;
	enum answered_by by;

	if (a)
		question_forget(a);
	if (!answered_by_find(jobj_get(event, "by"), &by))
		return; /* that daemon did not record it */
	if (answered_by_detail(by))
		jstr_decode(jobj_get(event, answered_by_detail(by)), APPROVAL_DETAIL_MAX, &detail);
	question_remember(s, no, by, detail);
}

void question_recall(struct session *s, unsigned kind, struct slice event)
{
	uint64_t no = jobj_uint(event, "ask");

	if (kind == EVENT_ANSWER)
		recall_answered(s, no, event);
	else if (kind == EVENT_ASK)
		recall_asked(s, no, event);
	else
		return;
	approval_of(s)->last = MAX(approval_of(s)->last, no);
}

void questions_recall_end(struct session *s, bool close)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	list_each(a, &approval_of(s)->open, struct session_question, link) {
		if (close) {
			question_remember(s, a->no, BY_CANCELLED, NULL);
			question_note_answer(a, answer_of_kind(a, ANSWER_CANCEL, &b), BY_CANCELLED,
					     NULL);
		}
		question_forget(a);
	}
}

void questions_put_answered(struct jw *w, const struct session *s)
{
	jw_arr(w, "answered");
	for (size_t i = 0; approval_of(s)->answered && i < APPROVALS_REMEMBERED; i++) {
		const struct answered_question *a = &approval_of(s)->answered[i];

		if (!a->no)
			continue;
		jw_obj(w, NULL);
		jw_uint(w, "ask", a->no);
		jw_str(w, "by", answered_by_word(a->by));
		if (a->detail && answered_by_detail(a->by))
			jw_str(w, answered_by_detail(a->by), a->detail);
		jw_end_obj(w);
	}
	jw_end_arr(w);
}

/* The elements have the members of an EVENT_ANSWER, so they are read as such events. */
void questions_load_answered(struct session *s, struct slice summary)
{
	jarr_each(v, jobj_get(summary, "answered"))
		question_recall(s, EVENT_ANSWER, v.raw);
}
