/*
 * fetcher_rig.h - a fetcher with the real acpd-fetch, and a server on the loopback for it to call (fetcher/far_side.mjs).
 */
#pragma once

#include "unit.h"

#include "fetcher/fetcher.h"

/* The ports of the far side. unknown: its certificate is of an authority that nobody knows. */
struct far_side {
	unsigned http, https, http2, unknown, proxy;
};

extern struct loop *far_loop;
extern struct fetcher *far_fetcher;
extern struct far_side far_side;

/* What came of one request. */
struct got {
	struct fetch *x;
	int status;
	char headers[16384];
	struct buf body;
	unsigned pieces;
	bool holds; /* nothing is taken */
	bool headed, ended;
	enum fetch_end how;
	char why[FETCH_WHY_SIZE];
};

/* Group set-up: certificates, the far side. */
int far_begin(void **state);
int far_end(void **state);
/* For each test: a fetcher that nothing was asked of. */
int far_setup(void **state);
int far_teardown(void **state);
/* Another one in its place. */
void far_again(const struct fetcher_config *more);

/* "http://127.0.0.1:PORT/path", overwritten by the fourth call after. */
const char *far_url(const char *scheme, unsigned port, const char *path);
/* Opens it, named; fails if it is refused at once. */
void got_open(struct got *g, const struct fetch_request *r);
void got_get(struct got *g, const char *url);
/* Runs the loop until *flag; fails after half a minute. */
void far_until(const bool *flag);
void far_run(unsigned ms);
/* GET, to its end; the body is text. */
void got_all(struct got *g, const char *url);
void got_done(struct got *g);
/* The process of acpd-fetch; 0: there is none. */
int far_helper(void);
/* Its own dirty pages in KiB; 0: they cannot be seen, or say nothing (sanitizers). */
unsigned far_memory(void);
