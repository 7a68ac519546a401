/*
 * upstream_allow.h - the list of --upstream-allow: addresses that may be called although they are private or tell of
 * the machine itself. HOST or HOST:PORT, separated by commas; without a port, any. An IPv6 address stands in brackets. Pure.
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>

/* -EINVAL with e: the list is none. */
int upstream_allow_check(const char *list, struct err *e);
/* host is without brackets; its case and a dot at its end do not matter. list may be NULL. */
bool upstream_allow_has(const char *list, struct slice host, int port);
