/*
 * confine_machine.h - which means of confinement this machine gives us, and why not those that it does not.
 *
 * All of them are tried at the first question, in a child that lives for a moment, since trying takes something away for
 * good. The answers stay: they are about kernel and container, and about who the daemon is.
 */
#pragma once

enum machine_part {
	MACHINE_NO_NEW_PRIVS,
	MACHINE_FILTER,	  /* of system calls */
	MACHINE_LISTENER, /* of refused system calls */
	MACHINE_BOUNDING, /* the bounding set of capabilities can be emptied */
	MACHINE_LANDLOCK,
	MACHINE_PARTS,
};

/* NULL: it is there; else why not, in a sentence without its end. */
const char *confine_machine_missing(enum machine_part part);
