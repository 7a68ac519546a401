/*
 * fetch.h - the parts of acpd-fetch: the frames of the daemon (fetch_server.c), keys (held_keys.c), and transfers: what they
 * are made from (call_request.c, proxy_rule.c), libcurl on our loop (curl_loop.c), the life of one (fetch_transfer.c) and the
 * head of its answer (answer_head.c).
 */
#pragma once

#include "base/buf.h"
#include "base/list.h"
#include "fetcher/wire/fetch_frame.h"
#include "service/service.h"

#include <curl/curl.h>

/* --- fetch_server.c ------------------------------------------------------------------------------------------- */

struct fetch_server;

extern const service_frame_fn fetch_server_takes[FRAME_MAX];
/* ca_file may be NULL, and stays the caller's. */
struct fetch_server *fetch_server_new(struct service_run *run, const char *ca_file);
void fetch_server_free(void *server);

/* --- held_keys.c: secret headers that the daemon has sent, in locked memory until it drops them; or in memory that is not
 * locked, where the machine locks none and the daemon lets them be there -------------------------------------- */

struct held_keys {
	struct list keys;
	bool unlocked; /* memory that is not locked will do */
};

void held_keys_init(struct held_keys *k);
/* payload: as fetch_key_parse takes it. -EPROTO: it is none; -ENOMEM: no memory can be locked. */
int held_keys_add(struct held_keys *k, uint32_t number, struct slice payload);
void held_keys_drop(struct held_keys *k, uint32_t number);
void held_keys_done(struct held_keys *k);
/* "name: prefix value", NUL-terminated; NULL: there is no such key. */
const char *held_keys_line(const struct held_keys *k, uint32_t number);

/* --- call_request.c: a request as libcurl takes it ------------------------------------------------------------- */

/* A URL that is parsed once: what is judged by its host is what libcurl calls. */
struct call_url {
	CURLU *parsed;
	char *host; /* without brackets */
	int port;
	bool https;
};

/* NULL, or what is wrong with it. */
const char *call_url_parse(struct call_url *u, const char *text);
void call_url_done(struct call_url *u);
/* The headers of the order, and the secret one; key may be NULL. NULL: they are no headers. */
struct curl_slist *call_headers(struct slice json, const char *key);
/* Wipes them. */
void call_headers_free(struct curl_slist *list);

/* --- proxy_rule.c: which requests go to the operator's proxy, by HTTP_PROXY, HTTPS_PROXY and NO_PROXY. Pure.
 *
 * NO_PROXY is a list, separated by commas or blanks: a host or domain (with all below it, with or without a dot in
 * front), an address, a network (10.0.0.0/8), each perhaps with a port, or "*". The loopback is never asked of a proxy. */

/* The proxy for it; NULL: none. */
const char *proxy_rule_of(const struct fetch_settings *s, bool https, struct slice host, int port);
/* host is one that NO_PROXY's text names. */
bool no_proxy_has(const char *list, struct slice host, int port);

/* --- answer_head.c: collects the head of an answer, line by line as libcurl passes it, and puts it as one raw JSON object:
 * names in lower case, the values of a name that comes again behind each other with ", ". Pure. ------------------ */

#define ANSWER_NAMES_MAX 512

struct answer_head {
	struct answer_field *fields;
	size_t n, bytes;
	bool over; /* the head of the final answer is whole; what follows are trailers */
};

/* A line with its end. interim: the status is 1xx. 1: the head is whole; 0: it goes on; -EMSGSIZE: it is too large. */
int answer_head_line(struct answer_head *h, struct slice line, bool interim);
void answer_head_put(const struct answer_head *h, struct buf *json);
void answer_head_done(struct answer_head *h);

/* --- curl_loop.c: libcurl's transfers on our loop: its sockets and its timer become sources of the loop, and each transfer
 * that has ended is reported. Nothing of it may be called from within a callback of libcurl. -------------------- */

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

/* --- fetch_transfer.c: one request of the daemon's, from its order to its end: the easy handle, what it may connect to, its
 * head, its window, its silence.
 *
 * A transfer sends on the channel all that there is to say of it: HEAD, DATA, and END. After END it does nothing any more;
 * ended is called with it, from the loop, and the owner frees it. */

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
/* libcurl reports that this handle has ended. */
void fetch_transfer_over(CURL *easy, CURLcode how);
/* The daemon has taken so many bytes of the answer. */
void fetch_transfer_taken(struct fetch_transfer *t, size_t n);
