/* uid_lending_internal.h - what the files of uid_lending.h share: uid_taking.c takes a uid from closed sessions, uid_giving.c
 * gives parked files one again. */
#pragma once

#include "base/log.h"
#include "session/parts/users/uid_lending.h"

enum lending_step {
	LENDING_IDLE,
	LENDING_CLEANS, /* what the uid left is removed */
	LENDING_LOOKS,	/* its trees are looked through */
	LENDING_GIVES,	/* files of a group get a uid again */
};

struct uid_lending {
	struct session_store *st;
	struct list waiting;
	enum lending_step step;
	uid_t uid;	       /* that is taken; LENDING_GIVES: that is given */
	unsigned long long no; /* of the group */
	struct helper_job *helper;
	bool stopping;
};

struct parked_group *lending_group(const struct uid_lending *l);
void lending_log(enum log_level level, const char *what, uid_t uid, const char *why);
/* Those that wait for the group failed are given e. What waits again stands behind them. */
void lending_wake(struct uid_lending *l, unsigned long long failed, const struct err *e);
int lending_start(struct uid_lending *l, const char *verb, const struct buf *job, struct err *e);
/* to: who is given them; 0: nobody, they are only looked through. */
void lending_put_trees(struct jw *w, const struct parked_group *g, uid_t to);

/* uid_taking.c */
/* 0: a uid will be free, or more is known. -ENOENT: nobody's can be taken. */
int lending_take(struct uid_lending *l);
int lending_look(struct uid_lending *l, struct err *e);
void lending_taken(struct uid_lending *l, struct slice report);
/* It stays as it is while this daemon runs. */
void lending_leave_alone(struct uid_lending *l, const char *why);

/* uid_giving.c */
/* 0: it has one, or will have. */
int lending_give(struct uid_lending *l, struct parked_group *g, struct err *e);
void lending_given(struct uid_lending *l);
/* What was to have one waits no longer. */
void lending_given_none(struct uid_lending *l, const struct err *why);
