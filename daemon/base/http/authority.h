/*
 * authority.h - "host" or "host:port", as it stands in URLs and options (RFC 3986, 3.2, without a user). Pure.
 *
 * An IPv6 address stands in brackets: without them the beginning of its port is unclear. A port is digits only.
 */
#pragma once

#include "base/slice.h"

struct authority {
	struct slice host; /* a part of the text, without brackets; never empty */
	int port;	   /* -1: there is none */
};

/* Parses all of text. port_min: 1, or 0 where port 0 has a meaning. False: text is no authority, *ret is unchanged. */
bool authority_parse(struct slice text, int port_min, struct authority *ret);
