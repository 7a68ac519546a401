/*
 * authority.h - "host" or "host:port", as it stands in URLs and options (RFC 3986, 3.2, without a user). Pure.
 *
 * An IPv6 address stands in brackets: without them nobody can say where its port begins. A port is digits only.
 */
#pragma once

#include "base/slice.h"

struct authority {
	struct slice host; /* a part of the text, without brackets; never empty */
	int port;	   /* -1: none is said */
};

/* All of text. port_min: 1, or 0 where port 0 has a meaning. False: it is none, and *ret is as it was. */
bool authority_parse(struct slice text, int port_min, struct authority *ret);
