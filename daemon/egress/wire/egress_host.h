/*
 * egress_host.h - the host of a rule or of a request, in the one form in which hosts are compared. Pure.
 *
 * A name is in lower case and has no dot at its end. It consists of letters, digits, '-' and '_'; other scripts have to
 * come as A-labels ("xn--..."). An address is as inet_ntop writes it, without brackets. What other programs may take
 * for an address, but is not written as one (2130706433, 0x7f.1, 0177.0.0.1), is neither; nor is anything with a '%'.
 */
#pragma once

#include "base/slice.h"

#define EGRESS_HOST_SIZE 256

struct egress_host {
	char text[EGRESS_HOST_SIZE];
	size_t n;
	bool address;
};

/* NULL, or what is wrong with it; *ret is empty then. An IPv6 address may stand in brackets. */
const char *egress_host_parse(struct slice text, struct egress_host *ret);
