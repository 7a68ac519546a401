/*
 * fetch_transfer.h - one request of the daemon's, from its order to its end: the easy handle, what it may connect to,
 * its head, its window, its silence.
 *
 * A transfer says on the channel all that there is to say of it: HEAD, DATA, and END. After END it does nothing any
 * more; ended is called with it, from the loop, and the owner frees it.
 */
#pragma once

#include "fetch/curl_loop.h"
#include "fetcher/wire/fetch_frame.h"
#include "loop/frame_channel.h"

struct fetch_transfer;

/* What all transfers share. */
struct fetch_world {
	struct loop *loop;
	struct curl_loop *curl;
	struct frame_channel *channel;
	struct fetch_settings settings;
	const char *ca_file; /* NULL: there is none, and so no https */
	void (*ended)(void *ctx, uint32_t number);
	void *ctx;
};

/* Takes body, a descriptor, or -1. key: the line of its secret header, or NULL. Never fails: it then ends. */
struct fetch_transfer *fetch_transfer_start(struct fetch_world *w, uint32_t number,
					    const struct fetch_order *o, const char *key, int body);
/* At any time, but not within a callback of libcurl. */
struct fetch_transfer *fetch_transfer_free(struct fetch_transfer *t);
/* libcurl says that this handle has ended. */
void fetch_transfer_over(CURL *easy, CURLcode how);
/* The daemon has taken so many bytes of the answer. */
void fetch_transfer_taken(struct fetch_transfer *t, size_t n);
