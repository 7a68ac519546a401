/*
 * webhook_list.h - the receivers of webhooks, as the file of --webhook or a claim has them: an array of at most WEBHOOKS_MAX
 * objects {url, secret, events?, id?}. Checked as a whole: a list is taken or not. Addresses and secrets are in locked
 * memory, and in no message.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/os/locked.h"
#include "base/slice.h"

/* The types of events. webhook_gap is none that one can choose: it always comes. */
enum webhook_type {
	WEBHOOK_TURN_ENDED,
	WEBHOOK_QUESTION_OPEN,
	WEBHOOK_BUDGET_WARNING,
	WEBHOOK_SESSION_BROKEN,
	WEBHOOK_ARTIFACT_CREATED,
	WEBHOOK_CHECK_FAILED,
	WEBHOOK_DRAFT_READY,
	WEBHOOK_TYPES,
};

#define WEBHOOK_ALL ((1u << WEBHOOK_TYPES) - 1)
#define WEBHOOK_GAP "webhook_gap"

extern const char *const webhook_types[WEBHOOK_TYPES];
/* The names of those in the set, separated by commas. */
void webhook_types_put(unsigned set, struct buf *b);
/* What webhook_types_put wrote; unknown words are left out. */
unsigned webhook_types_parse(struct slice names);

#define WEBHOOK_KEY_SIZE 33

struct webhook {
	char key[WEBHOOK_KEY_SIZE]; /* of its spool: a digest of id, else of url */
	char *id;		    /* NULL: it has none */
	char *host;
	struct locked_text *url;
	struct locked_text *secrets[WEBHOOK_SECRETS_MAX]; /* decoded */
	size_t nsecrets;
	unsigned events; /* bit per enum webhook_type */
};

/* All zeros is an empty list. */
struct webhook_list {
	struct webhook item[WEBHOOKS_MAX];
	size_t n;
};

/* array: valid JSON. field: what stands before "[0].url" in errors. allow: --upstream-allow. 0, or -EINVAL with e naming the
 * field, and *ret is empty. */
int webhook_list_parse(struct slice array, const char *field, const char *allow,
		       struct webhook_list *ret, struct err *e);
/* The same of a file, whose owner is root or us and that nobody else can read. -ENOENT with e: there is none. */
int webhook_list_read(const char *path, const char *allow, struct webhook_list *ret, struct err *e);
void webhook_list_done(struct webhook_list *l);
void webhook_done(struct webhook *w);
