/*
 * curl_loop.h - libcurl's transfers on our loop: its sockets and its timer become sources of the loop, and each
 * transfer that has ended is reported. Nothing of it may be called from within a callback of libcurl.
 */
#pragma once

#include "loop/loop.h"

#include <curl/curl.h>

struct curl_loop;

/* done: a transfer has ended, by itself; it is still to be removed. */
struct curl_loop *curl_loop_new(struct loop *loop,
				void (*done)(void *ctx, CURL *easy, CURLcode how), void *ctx);
/* All transfers are removed before. */
struct curl_loop *curl_loop_free(struct curl_loop *c);
bool curl_loop_add(struct curl_loop *c, CURL *easy);
void curl_loop_remove(struct curl_loop *c, CURL *easy);
/* A transfer that its write function had paused goes on. */
void curl_loop_resume(struct curl_loop *c, CURL *easy);
