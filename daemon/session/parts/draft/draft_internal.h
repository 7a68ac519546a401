/*
 * draft_internal.h - a draft of a session: another tree replaces its workspace, the real tree at cwd, until what it
 * changes is applied (draft_queue.c, draft_ops.c). The tree is an overlay at cwd, which only root can mount (draft_view.c),
 * or a copy in the session's home, which is its working directory then.
 *
 *	<state>/drafts/<sessionId>/base		the record of the real tree (unpack/draft/draft_base.h)
 *	                          /layers/<n>/	upper and work of an overlay of generation n; root's alone
 *	                          /at/view		where it is mounted; who is in the session's group passes through
 *	<home>/draft				a copy
 */
#pragma once

#include "session/parts/session_parts.h"
#include "base/list.h"
#include "json/jdec.h"
#include "session/core/session.h"
#include "tree/draft_head.h"

#define DRAFT_COPY_NAME "draft" /* in its home */

enum draft_how { DRAFT_OFF, DRAFT_OVERLAY, DRAFT_COPY };

/* State of the part. */
struct session_draft {
	enum draft_how how;
	char *missing;	     /* why a copy is no overlay; NULL */
	char *tree;	     /* the copy, or where the overlay is mounted; NULL: off */
	bool wanted;	     /* a new session is to begin with one */
	bool mounted;	     /* an overlay is */
	uint64_t generation; /* of that */
	struct list ops;     /* struct draft_op; the first may be at work */
	struct session_draft_use {
		uint64_t bytes; /* when it was last measured */
		bool over;	/* that is more than --draft-max */
		bool measuring;
	} use;
	struct loop_timer timer;	     /* while a turn runs it is measured */
	int64_t failed_checks, failed_tools; /* in a row (draft_terms.h) */
};

static inline struct session_draft *draft_of(const struct session *s)
{
	return s->parts[PART_DRAFT];
}

/* --- draft_ops.c: what is asked */

/* If a new session or a fork is to begin with a draft, that comes before its first harness, and its waiters get what goes
 * wrong. */
/* The client asks for a draft from the beginning. */
bool draft_is_wanted(const struct session_params *p);
int draft_launch_first(struct session *s, struct err *e);
/* A load asks for one: the waiters of the session wait for that, too. */
void draft_opened(struct session *s, const struct session_params *p);
/* The first of the queue goes on, if it can. */
void session_draft_go_on(struct session *s);
/* Something waits for the harness to be gone, and no turn may begin. */
bool session_waits_for_draft(const struct session *s);
/* Something is in the queue. */
bool session_has_draft_op(const struct session *s);
/* Those who wait get SESSION_CLOSING. What works is ended by inspections_abort. */
void session_draft_abort(struct session *s);
/* Ends what was asked with ctx, with CANCELLED; an apply is undone, unless it is done. False: there is none. */
bool draft_cancel_work(struct session *s, const void *ctx);

/* --- draft_view.c: where it is */

char *draft_base_file(const struct session *s);
char *draft_copy_path(const struct session *s);
/* Mounts the overlay, unless it is: of this generation. -errno with e: why it cannot be had. */
int draft_mount(struct session *s, uint64_t generation, struct err *e);
void draft_unmount(struct session *s);
/* That of the base on disk; generation 0: there is none that can be read. */
struct draft_head draft_head_read(const struct session *s);
/* All that is on disk of it, put away. */
void draft_remove(struct session *s);
/* Where its base and its layers are: made. */
int draft_make_dir(const struct session *s);
/* Sets what there is, and what belongs to it. */
void draft_set(struct session *s, enum draft_how how, const char *missing);
/* Mounts an overlay that is not, for those who only read (open_tree). */
int draft_open_tree(struct session *s, struct err *e);
/* Mounts that an earlier daemon left are taken away: they make directories busy that are to be removed. */
int draft_store_open(struct session_store *st, const struct store_config *cfg, struct err *e);

/* Where an overlay keeps what was changed. */
char *draft_upper_path(const struct session *s);

/* --- draft_watch.c: what turns have to do with it */
/* A turn is about to begin. False with e: there is more in it than may be. */
bool session_draft_admits_turn(struct session *s, struct err *e);
/* A turn has ended, its checks as well. */
void session_draft_note_turn(struct session *s, struct session_turn *t);
/* A tool call has ended. */
void session_draft_note_tool(struct session *s, bool ok);
