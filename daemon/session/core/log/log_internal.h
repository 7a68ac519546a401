/*
 * log_internal.h - a session's events: the log that numbers and keeps them, who reads it, and what of it a client has
 * acknowledged.
 *
 * This folder owns struct session_events (`log` in struct session). Readers are embedded in their owners,
 * who detach them; the log goes with the session. Emitting never fails: what the journal cannot take is held back from
 * every reader and tried again.
 */
#pragma once

#include "base/list.h"
#include "base/log.h"
#include "loop/loop.h"
#include "outbox/webhook_list.h"
#include "session/core/log/evlog.h"
#include "session/core/log/incarnations.h"
#include "session/core/session.h"

struct masked_stream;
struct session_turn;
struct trace_context;

/* In struct session: log. */
struct session_events {
	struct evlog events;
	struct list readers; /* struct log_reader */
	struct incarnations incarnations;
	struct masked_stream *stream; /* text that may be the beginning of a secret; NULL: none */
	off_t summarized; /* bytes of the journal that the summary stands for; 0: there is none */
	uint64_t handed; /* the newest event that a client has had from this daemon, or says it has */
	uint64_t acked;	       /* store/session_journal.c */
	uint64_t last_content; /* the newest event that is not about the session's own life */
	uint64_t repaired[TEXT_SOURCES]; /* places of its text that nobody has been told of */
	struct loop_timer idle_timer;	 /* then its memory is given back */
};

/* Capacity for what stands around an update in its event. */
#define EVENT_AROUND 512

/* emit.c */
/* The event alone: nothing that is held back goes before it. */
void event_emit_update(struct session *s, enum harness_update kind, struct slice update,
		       struct slice meta);
void event_emit(struct session *s, enum harness_update kind, struct slice update);
/* An update of the harness with id, raw JSON, in the place of its member key; id empty: as it is. */
void event_emit_named(struct session *s, const struct harness_event *ev, const char *key,
		      struct slice id);
/* A piece of a prompt. again: words of the daemon, for another attempt, and marked as that. */
void event_emit_prompt(struct session *s, struct slice update, uint64_t origin, bool again);
void event_emit_turn_end(struct session *s, const struct session_turn *t,
			 const struct turn_result *r);
/* An _acpd/event; kind: one of ours; data: raw members of the event. */
void event_note(struct session *s, enum session_event_kind kind, struct slice data);
/* The same, of kind lifecycle, about work that is not the running turn's: with the context and the labels of its own. */
void event_note_of(struct session *s, const struct trace_context *of, struct slice data);
/* The event text_repaired, if any text was. */
void event_text_repaired(struct session *s);
/* To those who are told of it elsewhere (outbox/outbox.h), without the secrets in its text. members: raw, of an object. key:
 * as outbox_event_once has it; NULL: it is not told again after a kill. */
void event_webhook(struct session *s, enum webhook_type type, const char *key,
		   struct slice members);
/* The session cannot go on as it was: its harness has gone or does not come, or what is on disk is damaged. */
void event_broken(struct session *s, const char *key, const char *reason, const char *text);
/* Member "turnIncarnation" of a turn that another incarnation took: the turn is that one's, whoever ends it, and a reader of
 * two ledgers bills it once. */
void turn_put_incarnation(struct jw *w, const struct session_turn *t);
void event_webhook_turn_end(struct session *s, const struct session_turn *t,
			    const struct turn_result *r);

/* cursors.c */
void session_wake(struct session *s);
struct watcher *session_driver(struct session *s);
void session_detach_all(struct session *s, const char *reason);
/* The session is deleted. */
void session_drop_observers(struct session *s);
/* No event follows: what is left is read, then the readers end. */
void readers_finish(struct session *s);
/* The session goes: readers hold nothing of it any more. */
void readers_drop(struct session *s);

/* session_log.c: a line of the log at level info, with session, current turn and trace; then pairs, as log_write takes
 * them. */
void session_log(const struct session *s, const char *event, ...) __attribute__((sentinel));
void turn_log(const struct session_turn *t, enum log_level level, const char *event, ...)
	__attribute__((sentinel));

/* masked_stream.c */
/* Whether ev is a piece of text that may end in the beginning of a secret, or follows one: it goes through masked_stream_add. */
bool masked_stream_wants(const struct session *s, const struct harness_event *ev);
/* Sends ev on, of which a part may have to wait. */
void masked_stream_add(struct session *s, const struct harness_event *ev);
/* Sends what is held back: another event comes. */
void masked_stream_flush(struct session *s);
void masked_stream_end(struct session *s);
void masked_stream_drop(struct session *s);
