/*
 * ledger_check.h - checks that a usage ledger is as it was written: every line is a record, n rises by one, each names
 * the digest of the one before, no turn is recorded twice, and sums are sums. Lines come one after the other, from one
 * file or from several.
 *
 * A chain does not show a change of its last line, or a cut end. For that a reader keeps an anchor, number and digest
 * of a record that it has seen. A ledger whose older files are gone may also begin at an anchor.
 *
 * Memory grows with the turns and sessions of one incarnation, unless only the chain is checked.
 */
#pragma once

#include "usage/ledger/ledger_file.h"

/* A record that was seen: n 0 is none. */
struct ledger_anchor {
	uint64_t n;
	char digest[65];
};

struct ledger_check;

/* "N:DIGEST" */
bool ledger_anchor_parse(const char *text, struct ledger_anchor *ret);
/* rep is filled in as lines come. */
struct ledger_check *ledger_check_new(const struct ledger_anchor *anchor, bool chain_only,
				      struct ledger_report *rep);
/* The daemon itself has removed the records up to that one, so the ledger may begin after it, or at any before. */
void ledger_check_removed(struct ledger_check *c, const struct ledger_anchor *removed);
struct ledger_check *ledger_check_free(struct ledger_check *c);
/* Call it before the lines of each file, also of the first. */
void ledger_check_next_file(struct ledger_check *c);
/* False: it is bad, rep says why, and no more lines may come. kind: as ledger_lines_next has it. */
bool ledger_check_line(struct ledger_check *c, struct slice line, int kind);
/* The file ends in the middle of a line. */
void ledger_check_torn(struct ledger_check *c);
/* All lines have come. */
bool ledger_check_end(struct ledger_check *c);
/* Checks all lines of a file on disk. A daemon may be in the middle of a write: the end of an incomplete last line is
 * awaited for so many milliseconds. 0: see the report; -errno. */
int ledger_check_fd(struct ledger_check *c, int fd, unsigned patience_ms);
/* Checks that file alone, from beginning to end. */
int ledgerfile_verify(int fd, const struct ledger_anchor *anchor, unsigned patience_ms,
		      struct ledger_report *ret);
