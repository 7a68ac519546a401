/*
 * approvals.c - lists and answers open questions, for clients that do not drive the session.
 *
 * The list is paged by (session number, question number). Both only rise, so a cursor stays valid
 * while questions are answered and asked. An answer is checked completely before question_settle,
 * which is the only way to end a question and ends it once. A later answer gets APPROVAL_ANSWERED
 * with the first one's origin, if the session remembers it.
 */
#include "session/parts/approval/approvals.h"

#include "base/clock.h"
#include "base/format/digits.h"
#include "base/limits.h"
#include "session/core/session_internal.h"
#include "session/parts/approval/approval_internal.h"
#include "session/core/redact/redact_internal.h"

#define CURSOR_SIZE 64

/* --- the list ------------------------------------------------------------------------------------------------------ */

/* Masked again: what was learnt to be secret since it was asked is hidden here, too. */
static void put_question_request(struct jw *w, const struct session_question *a)
{
	_cleanup_(buf_done) struct buf hidden = { 0 };
	struct slice params = slice_of(a->params);

	if (params.n > APPROVAL_SHOWN_MAX) {
		jw_uint(w, "requestBytes", params.n);
		return;
	}
	jw_raw(w, "request",
	       session_mask_json(a->session, params, false, event_fields_question, &hidden));
}

static void put_approval(struct jw *w, const struct session_question *a)
{
	jw_obj(w, NULL);
	question_put_id(w, a);
	jw_str(w, "sessionId", a->session->id);
	jw_uint(w, "turn", session_running(a->session));
	jw_str(w, "kind", a->elicitation ? "elicitation" : "permission");
	put_question_request(w, a);
	jw_str(w, "askedAt", CLOCK_ISO(a->asked_ms));
	if (a->timer.due)
		jw_str(w, "expiresAt", CLOCK_ISO(question_expires_ms(a)));
	jw_str(w, "default", answer_kind_word(question_default(a)));
	jw_end_obj(w);
}

/* Where the last answer ended: number of the session, and of the question in it. */
struct approval_place {
	uint64_t session, question;
};

static int parse_cursor(const char *cursor, struct approval_place *ret, struct err *e)
{
	struct slice first = slice_of(cursor), second = SLICE_NONE;
	const char *dash;

	*ret = (struct approval_place){ 0 };
	if (!cursor)
		return 0;
	dash = slice_skip(&first, "after-") ? memchr(first.p, '-', first.n) : NULL;
	if (dash) {
		second = slice_of(dash + 1);
		first.n = (size_t)(dash - first.p);
	}
	if (dash && u64_parse(first, &ret->session) && u64_parse(second, &ret->question))
		return 0;
	return err_field(e, "cursor", "CURSOR_INVALID",
			 "cursor is not one that a list of approvals returned");
}

/* False: the page is full. Its size is checked before an entry, so a page has at least one, and its last may exceed the limit. */
static bool put_session_questions(struct jw *w, size_t begun, const struct session *s,
				  struct approval_place *at)
{
	uint64_t after = s->number == at->session ? at->question : 0;

	list_each(a, (struct list *)&approval_of(s)->open, struct session_question, link) {
		if (a->no <= after)
			continue;
		if (buf_len(w->b) - begun > APPROVALS_PAGE_BYTES)
			return false;
		put_approval(w, a);
		*at = (struct approval_place){ s->number, a->no };
	}
	return true;
}

/* Sessions that nobody has looked at since the daemon began have no questions: their journals are left alone. */
int approvals_put(struct session_store *st, const struct approval_query *q, struct jw *w,
		  struct err *e)
{
	const struct session *only = q->session_id ? store_find(st, q->session_id) : NULL;
	struct approval_place at;
	char cursor[CURSOR_SIZE];
	size_t begun = buf_len(w->b);
	bool whole = true;

	if (parse_cursor(q->cursor, &at, e) < 0)
		return -EINVAL;
	/* A session that the client may not see does not exist for it. */
	if (q->session_id && (!only || !grant_sees(q->grant, q->session_id)))
		return err_set(e, -ENOENT, RPC_NOT_FOUND, "SESSION_NOT_FOUND",
			       "there is no such session");
	jw_arr(w, "approvals");
	list_each(s, &st->sessions, struct session, link)
		if (whole && s->number >= at.session && (!only || s == only) &&
		    grant_sees(q->grant, s->id))
			whole = put_session_questions(w, begun, s, &at);
	jw_end_arr(w);
	snprintf(cursor, sizeof(cursor), "after-%llu-%llu", (unsigned long long)at.session,
		 (unsigned long long)at.question);
	if (!whole)
		jw_str(w, "nextCursor", cursor);
	return 0;
}

/* --- answering ------------------------------------------------------------------------------------------------------ */

int approval_unknown(struct err *e)
{
	return err_field(e, "id", "APPROVAL_UNKNOWN", "there is no such question, nor was there");
}

static int refuse_answered(const struct session *s, uint64_t no, struct buf *ret, struct err *e)
{
	const struct answered_question *who = question_answered(s, no);
	struct jw w = JW(ret);

	if (who) {
		jw_str(&w, "by", answered_by_word(who->by));
		if (answered_by_detail(who->by))
			jw_str(&w, answered_by_detail(who->by), who->detail);
	}
	return err_set(e, -EALREADY, RPC_INVALID_REQUEST, "APPROVAL_ANSWERED",
		       "the question has been answered already%s%s", who ? ": by " : "",
		       who ? answered_by_word(who->by) : "");
}

char *approval_session(const char *id)
{
	const char *colon = strrchr(id, ':');

	return xstrndup(id, colon ? (size_t)(colon - id) : 0);
}

/* id: SESSION:NUMBER. A leading zero would be a second id of the same question. A number above the newest was never given;
 * any other that is not open was answered, even if it is not known by whom. */
static int find_question(struct session_store *st, const char *id, struct session_question **ret,
			 struct buf *who, struct err *e)
{
	const char *colon = strrchr(id, ':');
	_cleanup_(freep) char *session = approval_session(id);
	const struct session *s = colon ? store_find(st, session) : NULL;
	uint64_t no;

	if (!s || colon[1] == '0' || !u64_parse(slice_of(colon + 1), &no) ||
	    no > approval_of(s)->last)
		return approval_unknown(e);
	*ret = question_find(s, no);
	return *ret ? 0 : refuse_answered(s, no, who, e);
}

static int reply_invalid(struct err *e, const char *field, const char *why)
{
	return err_field(e, field, "FIELD_INVALID", "%s: %s", field, why);
}

static int reply_option(const struct session_question *a, const struct approval_reply *r,
			struct buf *ret, struct err *e)
{
	struct slice id = option_named(a, r->option_id);

	if (!id.n)
		return reply_invalid(e, "optionId", "this option is not offered");
	answer_put_option(id, ret);
	return 0;
}

/* The client's own outcome is passed on whole, so it must fit the question as it is. */
static int reply_outcome(const struct session_question *a, const struct approval_reply *r,
			 struct buf *ret, struct err *e)
{
	struct jw w = JW(ret);

	jw_object(&w, NULL, JW_RAW("outcome", r->outcome));
	if (answer_fits(a, buf_slice(ret)))
		return 0;
	return reply_invalid(
		e, "outcome",
		"must be {outcome: cancelled}, or selected with an optionId that is offered");
}

static int reply_permission(const struct session_question *a, const struct approval_reply *r,
			    struct buf *ret, struct err *e)
{
	if (r->action || r->content.n)
		return reply_invalid(e, r->action ? "action" : "content",
				     "a permission is answered by optionId or outcome");
	if (r->option_id && r->outcome.n)
		return reply_invalid(e, "outcome", "there is an optionId, too");
	if (r->option_id)
		return reply_option(a, r, ret, e);
	if (r->outcome.n)
		return reply_outcome(a, r, ret, e);
	return err_field(e, "optionId", "FIELD_MISSING", "optionId or outcome is required");
}

static int reply_elicitation(const struct session_question *a, const struct approval_reply *r,
			     struct buf *ret, struct err *e)
{
	struct jw w = JW(ret);

	if (r->option_id || r->outcome.n)
		return reply_invalid(e, r->option_id ? "optionId" : "outcome",
				     "an elicitation is answered by action and content");
	if (!r->action)
		return err_field(e, "action", "FIELD_MISSING", "action is required");
	jw_object(&w, NULL, JW_STR("action", r->action), JW_RAW("content", r->content));
	if (!answer_fits(a, buf_slice(ret)))
		return reply_invalid(e, "action", "must be accept, decline or cancel");
	if (r->content.n && strcmp(r->action, "accept") != 0)
		return reply_invalid(e, "content", "only what is accepted has a content");
	return 0;
}

static int parse_answered_by(const char *by, enum answered_by *ret, struct err *e)
{
	*ret = by && strcmp(by, "human") == 0 ? BY_HUMAN : BY_CLIENT;
	return !by || *ret == BY_HUMAN || strcmp(by, "client") == 0 ?
		       0 :
		       reply_invalid(e, "by", "must be client or human");
}

int approval_answer(struct session_store *st, const char *id, const struct approval_reply *reply,
		    const char *via, struct buf *ret, struct err *e)
{
	struct session_question *a = NULL;
	enum answered_by by;
	int r = parse_answered_by(reply->by, &by, e);

	if (r == 0)
		r = find_question(st, id, &a, ret, e);
	if (!a)
		return r;
	r = a->elicitation ? reply_elicitation(a, reply, ret, e) :
			     reply_permission(a, reply, ret, e);
	if (r == 0)
		question_settle(a, buf_slice(ret), by, via);
	return r;
}
