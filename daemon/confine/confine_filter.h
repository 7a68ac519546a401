/*
 * confine_filter.h - the rows of confine_denials.h as a program for the kernel.
 */
#pragma once

#include "base/err.h"

#include <linux/filter.h>
#include <stdbool.h>

/* flat: with the rows for where no namespaces are made. notify: calls are not refused but handed to who listens.
 * The program is the caller's. 0 or a negative errno with e. */
int confine_filter_make(bool flat, bool notify, struct sock_fprog *ret, struct err *e);
