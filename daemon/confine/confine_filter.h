/*
 * confine_filter.h - the rows of confine_denials.h as a program for the kernel.
 */
#pragma once

#include "base/err.h"

#include <linux/filter.h>

enum filter_part {
	FILTER_FLAT = 1 << 0, /* with the rows for where no namespaces may be made */
	FILTER_NOTIFY =
		1
		<< 1, /* calls are not refused but handed to who listens, and those of watch/watched.h too */
	FILTER_WRITES = 1 << 2, /* of these also the ones that write */
};

/* parts: of enum filter_part. The program is the caller's. 0 or a negative errno with e. */
int confine_filter_make(unsigned parts, struct sock_fprog *ret, struct err *e);
