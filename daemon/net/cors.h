/*
 * cors.h - the headers that a browser requires before a page of another origin may read our answers. Only origins of
 * --allow-origin get them, on every route and with every status, also for refusals and event streams. A page sends its
 * token in a header, so credentials such as cookies are never allowed.
 */
#pragma once

#include "net/ws.h"

/* A preflight asks whether the page may send its request; the request itself follows, with its token. */
bool cors_is_preflight(struct lws *wsi, const char *method);
/* Adds the headers for the request's Origin, if it is listed. -1: they do not fit. */
int cors_put(struct lws *wsi, bool preflight, unsigned char **p, unsigned char *end);
