/* fetch_headers.h - walks headers that stand in a raw JSON object of strings. Pure. */
#pragma once

#include "json/jscan.h"

/* name and value are those of the member that was read last. */
struct fetch_headers {
	struct jiter it;
	char *name, *value;
};

/* text is a valid object, or empty. False: it is neither. */
bool fetch_headers_begin(struct fetch_headers *h, struct slice text);
/* 1: name and value are the next ones. 0: there is none. -EINVAL: the next is no header. */
int fetch_headers_next(struct fetch_headers *h);
void fetch_headers_done(struct fetch_headers *h);
