/*
 * host_set.h - hosts that were seen, up to EGRESS_HOSTS_TOLD of them: whoever makes more of them changes nothing. Pure.
 */
#pragma once

#include <stdbool.h>

struct host_set {
	char **hosts;
	unsigned n;
};

bool host_set_has(const struct host_set *s, const char *host);
/* True: it is new, and in it now. False: it was in it, or there is no room. */
bool host_set_add(struct host_set *s, const char *host);
void host_set_done(struct host_set *s);
