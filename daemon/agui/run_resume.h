/* run_resume.h - the questions of a session as interrupts, and what a client says to them. */
#pragma once

#include "agui/agui_run.h"

/* How many questions of the session are open. */
size_t agui_questions_open(const struct agui *a, const char *session_id);
/* Every open question of the session is answered by an element of resume (raw array), and every element is one's.
 * INTERRUPT_UNANSWERED, INTERRUPT_UNKNOWN. */
int agui_resume_check(const struct agui *a, const char *session_id, struct slice resume,
		      struct err *e);
/* The answers are given. Reasons of approval_answer. */
int agui_resume(const struct agui *a, struct slice resume, struct err *e);
/* Elements of interrupts. */
void agui_interrupts_put(const struct agui *a, const char *session_id, struct jw *w);
