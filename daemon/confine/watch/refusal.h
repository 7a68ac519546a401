/*
 * refusal.h - one thing that a confined process was refused, in words: the call, what it was about, the errno it failed
 * with, and the smallest rule under which it would not have. A value.
 */
#pragma once

#include "base/buf.h"
#include "base/limits.h"
#include "confine/confine_denials.h"

#include <stdbool.h>
#include <sys/types.h>

enum refusal_kind {
	REFUSED_CALL,  /* by the filter: row says by what */
	REFUSED_WRITE, /* by what is seen of the file system: detail is a path */
	REFUSED_HOST,  /* by the network: detail is an address and a port */
};

struct refusal {
	enum refusal_kind kind;
	const char *call;	  /* static */
	const struct denial *row; /* of REFUSED_CALL */
	int error;
	uint64_t count;
	char detail[REFUSAL_DETAIL_MAX]; /* UTF-8 without control characters; empty: there is nothing to say */
};

/* Sets detail: a longer text is cut, and what is no text becomes '?'. */
void refusal_set_detail(struct refusal *r, const char *text);
/* The detail of a call that was refused by its row: of a process that waits in it. */
void refusal_describe(struct refusal *r, pid_t caller, const uint64_t args[CONFINE_CALL_ARGS]);

/* What would be got if it were allowed; NULL: see kind. */
const char *refusal_why(const struct refusal *r);
/* The rule, for who writes a template. */
void refusal_put_rule(const struct refusal *r, struct buf *b);
/* Nothing has to be allowed: programs take another way by themselves. */
bool refusal_is_harmless(const struct refusal *r);
/* EPERM and the like. */
const char *refusal_errno(const struct refusal *r);

/*
 * What was refused, each once, with how often: the record that a supervisor fills from its thread and others
 * read. As long as one of them has a reference it is there.
 *
 * A confined process chooses what is in it. So it has REFUSALS_MAX entries; whatever else comes is only counted.
 * Nothing here takes memory after refusals_new.
 */
struct refusals;

/* One reference. */
struct refusals *refusals_new(void);
/* Both take NULL. */
struct refusals *refusals_ref(struct refusals *r);
struct refusals *refusals_unref(struct refusals *r);
/* Readable when there is an entry that is new since refusals_seen. Owned by r. */
int refusals_fd(const struct refusals *r);
void refusals_seen(struct refusals *r);

/* count is ignored: it happened once. */
void refusals_add(struct refusals *r, const struct refusal *one);
/* The next entry that was not taken yet; again: also those that have happened since they were. false: there is none. */
bool refusals_take(struct refusals *r, bool again, struct refusal *ret);
/* How many found no room since they were asked for. */
uint64_t refusals_take_more(struct refusals *r);
