/*
 * call_url.h - the URL of a request, read once: what is judged by its host is what libcurl calls.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>

struct call_url {
	CURLU *parsed;
	char *host; /* without brackets */
	int port;
	bool https;
};

/* NULL, or what is wrong with it. */
const char *call_url_parse(struct call_url *u, const char *text);
void call_url_done(struct call_url *u);
