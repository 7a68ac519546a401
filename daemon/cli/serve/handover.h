/*
 * handover.h - what the daemon leaves to the program that takes its place (acpd restart): the claim, the listener, and how
 * often that has happened. A file in memory, whose descriptor the variable ACPD_HANDOVER names; the process stays the same.
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "digest/digest.h"
#include "net/claim.h"

#include <stdbool.h>

struct handover {
	char *text; /* what was left, with secrets in it; NULL: nothing */
	size_t n;
	struct slice claim; /* raw, of text; empty: it was not claimed */
	struct sha256 file; /* of the token file */
	bool has_file;
	int listener; /* 0: none */
	uint64_t restarts;
};

/* Once, at the start. Without the variable all is zero. */
int handover_take(struct handover *h, struct err *e);
/* Wipes the text; the numbers stay. */
void handover_done(struct handover *h);
/* Leaves all that; a descriptor, or -errno. */
int handover_leave(const struct claim_desk *desk, const struct admission *admission, int listener,
		   uint64_t restarts);
/* The program's file, before it may be replaced. */
void handover_note_program(void);
/* Executes that file with the arguments of this process; returns only on failure. */
int handover_execute(int fd);
