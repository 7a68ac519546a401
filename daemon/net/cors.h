/*
 * cors.h - what a browser wants to hear before it lets a page of another origin read an answer of ours. Only the
 * origins of --allow-origin hear it, on every route and with every status, refusals and event streams included; a
 * page has its token in a header, so cookies and the like are never asked for.
 */
#pragma once

#include "net/ws.h"

/* A page asks whether it may ask; the request itself follows, with its token. */
bool cors_is_preflight(struct lws *wsi, const char *method);
/* Adds the headers for the request's Origin, if it is listed. -1: they do not fit. */
int cors_put(struct lws *wsi, bool preflight, unsigned char **p, unsigned char *end);
