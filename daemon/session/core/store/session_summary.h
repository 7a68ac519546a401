/*
 * session_summary.h - what reading a session's journal would show, in a file beside it: <state>/sessions/<id>.summary. So a
 * later daemon has a session at once, however long its history is.
 *
 * It is written when a session rests (no turn, no question) and its journal is as large as SUMMARY_MIN; a smaller one is
 * read as fast. It holds for the journal exactly as it was then, by size, time of change and checksum of the last
 * line: any other is read as a whole, as is that of which the summary is damaged in any way. So it may be missing, old
 * or lost at any time. Its lines are records (journal_record.h): "summary" with what has no other record, and then those that
 * stand for all before when a journal is trimmed.
 *
 * A bit that the disk has changed is no change of time: what was taken from its summary is read in the background afterwards,
 * a piece at a time; damage is reported then, and the summary removed, so that the next daemon reads the journal.
 */
#pragma once

#include "session/core/session_internal.h"

struct journal_record;

/* Writes it, if it is due; that it cannot be written does no harm. */
void summary_write(struct session *s);
/* The same for the last time: s goes. */
void summary_done(struct session *s);
/* It does not hold: what it is of is damaged. */
void summary_drop(struct session *s);
/* Takes up s from its summary: fn gets the records. False: there is none that holds, and nothing has been done. */
bool summary_take(struct session *s, void (*fn)(void *ctx, const struct journal_record *rec),
		  void *ctx);

/* The journal of s is to be read in the background. */
void journal_check_later(struct session *s);
void journal_check_forget(struct session *s);
void journal_checks_done(struct session_store *st);
