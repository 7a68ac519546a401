/*
 * proxy_rule.h - which requests go to the operator's proxy, by HTTP_PROXY, HTTPS_PROXY and NO_PROXY. Pure.
 *
 * NO_PROXY is a list, separated by commas or blanks: a host or domain (with all below it, with or without a dot in
 * front), an address, a network (10.0.0.0/8), each perhaps with a port, or "*". The loopback is never asked of a proxy.
 */
#pragma once

#include "fetcher/wire/fetch_frame.h"

/* The proxy for it; NULL: none. */
const char *proxy_rule_of(const struct fetch_settings *s, bool https, struct slice host, int port);
/* host is one that NO_PROXY's text names. */
bool no_proxy_has(const char *list, struct slice host, int port);
