/*
 * confine_denials.h - the system calls that are refused to what the daemon starts, each with the errno it fails with and
 * why. All others are allowed: what harnesses and the programs that they start call is not ours to know, and changes.
 *
 * A refused call fails, it does not kill: programs try things, and go on. ENOSYS is for what a program then does in
 * another way: it is what an older kernel says. What a process may do in namespaces of its own is left alone, so that
 * the sandboxes that harnesses bring work; where none are to be made, more rows apply (flat).
 *
 * A call that only some capability gives, and only in the first user namespace, has a row too: a bounding set
 * cannot be emptied everywhere.
 */
#pragma once

#include "confine/confine_list.h"

struct denial {
	const char *call;
	int error;
	struct confine_condition when[CONFINE_CONDITIONS_MAX];
	bool flat;	 /* refused only where no namespaces may be made */
	const char *why; /* what it would give */
};

/* All of them, and how many: static. */
const struct denial *confine_denials(size_t *n);
