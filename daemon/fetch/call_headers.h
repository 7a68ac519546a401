/* call_headers.h - the headers of a request as libcurl takes them: those of the order, and the secret one. */
#pragma once

#include "base/slice.h"

#include <curl/curl.h>

/* NULL: they are no headers. key may be NULL. */
struct curl_slist *call_headers(struct slice json, const char *key);
/* Wipes them. */
void call_headers_free(struct curl_slist *list);
