/*
 * ask_child.h - a question that a child of ours answers, because finding out takes something away for good, or costs
 * memory that the daemon would keep. The child lives for a moment, and its end is waited for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* answer runs in the child, writes to the descriptor `to` and returns 0 or -errno. Bytes that it wrote, size at most;
 * or its -errno, or why it could not be asked.
 *
 * shares: without a copy of our memory, which at the start of the daemon costs more than all that is asked. Then answer
 * makes system calls and nothing else, and writes no more than a pipe takes at once. */
int ask_child(bool shares, int (*answer)(const void *ctx, int to), const void *ctx, void *ret,
	      size_t size);
