/*
 * fetch_frame.h - what the daemon and acpd-fetch say to each other over their socket: frames (loop/frame_channel.h) whose number
 * is that of a request or of a key. Pure; both sides use it.
 *
 *	to acpd-fetch		payload
 *	CONFIG			object: proxies, --upstream-allow; the first frame, once
 *	KEY			name NUL prefix NUL value
 *	KEY_DROP
 *	OPEN			struct fetch_order; with a body its descriptor comes along
 *	TAKEN			so many bytes of the answer have been taken
 *	CLOSE			nothing more is wanted of it
 *
 *	from acpd-fetch
 *	READY			it is confined, and has taken CONFIG
 *	HEAD			status and a raw object of strings
 *	DATA			bytes of the answer
 *	END			struct fetch_verdict; last of its request
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "loop/frame_channel.h"
#include "base/limits.h"
#include "json/jscan.h"

#define FETCH_WHY_SIZE 256

enum fetch_frame_type {
	FRAME_CONFIG = 1,
	FRAME_KEY,
	FRAME_KEY_DROP,
	FRAME_OPEN,
	FRAME_TAKEN,
	FRAME_CLOSE,
	FRAME_READY,
	FRAME_HEAD,
	FRAME_DATA,
	FRAME_END,
	FRAME_MAX,
};

/* All of these are -EPROTO if the payload is none of its kind. Slices are parts of it, strings are owned. */

struct fetch_settings {
	char *http_proxy, *https_proxy, *no_proxy, *allow; /* each may be NULL */
	bool unlocked; /* a key whose memory cannot be locked is kept all the same */
};

void fetch_settings_put(struct buf *b, const struct fetch_settings *s);
int fetch_settings_parse(struct slice payload, struct fetch_settings *ret);
void fetch_settings_done(struct fetch_settings *s);

struct fetch_order {
	char *method, *url;
	struct slice headers; /* raw object, or empty */
	int64_t key;	      /* number of a key, or 0 */
	int64_t body;	      /* bytes; 0: no descriptor comes along */
	int64_t idle_ms;
	bool named;
};

void fetch_order_put(struct buf *b, const struct fetch_order *o);
int fetch_order_parse(struct slice payload, struct fetch_order *ret);
void fetch_order_done(struct fetch_order *o);

int fetch_key_parse(struct slice payload, struct slice *name, struct slice *prefix,
		    struct slice *value);
int fetch_taken_parse(struct slice payload, uint32_t *ret);

void fetch_answer_put(struct buf *b, int status, struct slice headers);
/* headers are lower-case names and strings. */
int fetch_answer_parse(struct slice payload, int *status, struct slice *headers);

enum fetch_end {
	FETCH_COMPLETE,
	FETCH_REFUSED,	   /* an address or a url that may not be called */
	FETCH_UNREACHABLE, /* name, connection or TLS: nothing was answered */
	FETCH_CUT,	   /* ended before the answer did */
	FETCH_SILENT,	   /* idle_ms passed */
	FETCH_GONE,	   /* acpd-fetch died */
	FETCH_UNAVAILABLE, /* it is not installed, or cannot start */
	FETCH_NO_LOCK,	   /* no memory can be locked for its key */
	FETCH_END_MAX,
};

struct fetch_verdict {
	enum fetch_end how;
	char why[FETCH_WHY_SIZE];
};

void fetch_verdict_put(struct buf *b, const struct fetch_verdict *v);
int fetch_verdict_parse(struct slice payload, struct fetch_verdict *ret);

/* Headers that stand in a raw JSON object of strings: a walk. Name and value are those of the member that was read last. */
struct fetch_headers {
	struct jiter it;
	char *name, *value;
};

/* text is a valid object, or empty. False: it is neither. */
bool fetch_headers_begin(struct fetch_headers *h, struct slice text);
/* 1: name and value are the next ones. 0: there is none. -EINVAL: the next is no header. */
int fetch_headers_next(struct fetch_headers *h);
void fetch_headers_done(struct fetch_headers *h);
