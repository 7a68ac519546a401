/*
 * hosted_check.h - one check of a server that is up: it counts the tools of its list, and measures how long the answer
 * takes.
 *
 * The list is read to its end, at most HOSTED_PAGES_MAX pages within HOSTED_CHECK_MS. Only the count is kept. A server
 * that reports no tools passes. One check at a time; hosted_check_cancel is harmless when none is running.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "loop/loop.h"
#include "tools/mcp/backend.h"

struct hosted_check_result {
	int tools;	       /* -1: no list */
	unsigned latency_ms;   /* until the first page came */
	const struct err *why; /* NULL: it was answered */
};

struct hosted_check {
	struct loop *loop;
	struct mcp_backend *backend;
	struct mcp_call *call; /* NULL: none is running */
	void (*done)(void *ctx, const struct hosted_check_result *result);
	void *ctx;
	uint64_t began_ms;
	unsigned latency_ms, pages;
	int tools;
	struct buf cursor; /* raw */
	struct loop_timer deadline;
	struct loop_task next;
};

/* done is called later, once, unless it is cancelled. All members but the first two are set here. */
void hosted_check_begin(struct hosted_check *l,
			void (*done)(void *, const struct hosted_check_result *), void *ctx);
void hosted_check_cancel(struct hosted_check *l);
