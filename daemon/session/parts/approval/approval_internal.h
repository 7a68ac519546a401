/*
 * approval_internal.h - the questions of a session: permissions and elicitations that its harness, its tools or its
 * network ask. Each is answered once.
 *
 * question.c is the life of a question, question_driver.c sends it to the driver, question_answer.c says which answers are
 * valid (pure), question_rules.c applies the session's rules, question_recall.c remembers answers, approvals.c is for other clients than the driver. Everything runs on
 * the loop.
 */
#pragma once

#include "session/parts/session_parts.h"
#include "base/bucket.h"
#include "base/list.h"
#include "json/jscan.h"
#include "loop/loop.h"
#include "session/parts/approval/approval_terms.h"
#include "session/parts/approval/own_questions.h"
#include "session/parts/rules/session_rules.h"
#include "session/core/session.h"
#include "session/core/turn/span.h"

/* Who answered. The words are those of the event, in `by`. */
enum answered_by {
	BY_CLIENT,    /* a client; the detail is how the answer came: "driver", "acp", "http" */
	BY_HUMAN,     /* the same, and the client said that a human decided */
	BY_RULE,      /* a rule; the detail is its id */
	BY_TIMEOUT,   /* nobody, in the time there was */
	BY_DEFAULT,   /* the daemon, since nobody could be asked; the detail says why */
	BY_CANCELLED, /* turn, harness or session have ended */
	BY_WITHDRAWN, /* who asked has taken it back, and is not told */
	ANSWERED_BY_MAX,
};

struct session_question {
	struct list link;
	uint64_t no; /* from 1, of the session: "ask" in its events */
	struct session *session;
	uint64_t harness_id;
	session_asked_fn answered; /* not the harness's: who asked */
	void *answered_ctx;
	bool elicitation;
	char *params;	       /* raw object without sessionId */
	struct rule_seed seed; /* what an answer "from now on" makes */
	struct watcher *shown_to;
	uint64_t asked_ms; /* unix */
	struct trace_span span;
	struct loop_timer timer;
	bool timed;		   /* it has its time-out from the start, whoever is there */
	enum answer_kind fallback; /* of a permission, when the time is up */
};

/* What is remembered of one that is over. */
struct answered_question {
	uint64_t no; /* 0: none */
	enum answered_by by;
	char *detail;
};

/* State of the part. */
struct session_approvals {
	struct list open; /* struct session_question, oldest first */
	unsigned nopen;
	uint64_t last;	    /* number of the newest question */
	struct bucket told; /* by webhooks: a harness can ask without end */
	struct answered_question
		*answered; /* APPROVALS_REMEMBERED of them, by number; NULL: none yet */
};

static inline struct session_approvals *approval_of(const struct session *s)
{
	return s->parts[PART_APPROVAL];
}

/* --- question.c ---------------------------------------------------------------------------------------------- */

/* The one way in which a question ends; a is gone after. answer: raw, as ACP has the result, one that answer_fits. detail:
 * as enum answered_by says, or NULL. */
void question_settle(struct session_question *a, struct slice answer, enum answered_by by,
		     const char *detail);
/* The same with the answer that stands for this. */
void question_settle_as(struct session_question *a, enum answer_kind kind, enum answered_by by,
			const char *detail);
/* One of that number, in the list; nothing is known of it yet. */
struct session_question *question_new(struct session *s, uint64_t no);
/* The open one of that number, or NULL. */
struct session_question *question_find(const struct session *s, uint64_t no);
/* It is over, and that is all: neither event nor answer. */
void question_forget(struct session_question *a);
/* Member "id", as approvals.h has it. */
void question_put_id(struct jw *w, const struct session_question *a);
void question_note_answer(const struct session_question *a, struct slice answer,
			  enum answered_by by, const char *detail);

/* --- question_answer.c: pure ------------------------------------------------------------------------------------ */

const char *answered_by_word(enum answered_by by);
/* False: it is no such word. */
bool answered_by_find(struct jval word, enum answered_by *ret);
/* Name of the member that holds the detail; NULL: there is none. */
const char *answered_by_detail(enum answered_by by);
/* It is an answer to this question: one of its options, or an action. */
bool answer_fits(const struct session_question *a, struct slice answer);
/* It offers one of that kind (ACP's PermissionOptionKind). */
bool question_has_option(const struct session_question *a, const char *kind);
/* The answer that stands for kind, raw; it may borrow from b. ALLOW is never for longer than this once: without
 * such an option it is a rejection, and nothing that is filled in is made up for an elicitation. */
struct slice answer_of_kind(const struct session_question *a, enum answer_kind kind, struct buf *b);
/* The raw id of the option with that id; empty: it is not offered. */
struct slice option_named(const struct session_question *a, const char *id);
/* The answer that selects it. */
void answer_put_option(struct slice id, struct buf *b);
/* What it comes to, in a word: the kind of the chosen option, else the answer's own. Caller frees; may be NULL. */
char *answer_word(const struct session_question *a, struct slice answer);

/* --- question_rules.c ---------------------------------------------------------------------------------------------- */

/* True: a rule, or for want of one the session's approval, has answered it, and a is gone. */
bool question_apply_rules(struct session_question *a, const struct harness_ask *in);
/* The answer that the harness gets for what a human has chosen; it may borrow from b. */
struct slice question_narrow_answer(struct session_question *a, struct slice answer, struct buf *b);

/* --- question_driver.c ------------------------------------------------------------------------------------------ */

/* What the answer is when the time is up. */
enum answer_kind question_default(const struct session_question *a);
/* Its time-out begins, if the session has one for all its questions. */
void question_arm(struct session_question *a);
/* Unix ms; it has a timer. */
uint64_t question_expires_ms(const struct session_question *a);
/* Puts it to the driver, or holds it. */
void question_put(struct session_question *a);
void question_withdraw(struct session_question *a);
/* Puts what is open to the new driver. */
void questions_reissue(struct session *s, struct watcher *w);
void questions_hold(struct session *s, struct watcher *gone);
/* The client can no longer answer on its connection: it gets withdrawals, and the questions stay open. */
void questions_withdraw(struct session *s, struct watcher *w);

/* --- question_recall.c -------------------------------------------------------------------------------------------- */

void question_remember(struct session *s, uint64_t no, enum answered_by by, const char *detail);
/* NULL: it is too long ago. */
const struct answered_question *question_answered(const struct session *s, uint64_t no);
void questions_done(struct session *s);
/* Member "answered" of the summary of a closed session, and back from there. */
void questions_put_answered(struct jw *w, const struct session *s);
void questions_load_answered(struct session *s, struct slice summary);
/* An event as it stands in the journal of an earlier daemon; one that is not of a question changes nothing. */
void question_recall(struct session *s, unsigned kind, struct slice event);
/* The turn of the recalled questions has ended. close: it was left open, and they are cancelled by events of it. */
void questions_recall_end(struct session *s, bool close);
