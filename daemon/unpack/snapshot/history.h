/*
 * history.h - going back from the index to the end of an earlier turn, or to the baseline.
 *
 * A history starts at the index and takes in one turn file after the other, newest first; each names the next (from).
 * The history then holds the old entry of every path that changed since; the index has all others. Its memory is the
 * number of these paths. Turn files need only be open while they are taken in, so a process that may open them can
 * build the history before it gives its rights up.
 *
 * What was delivered after a turn counts as delivered before it, too: history_deliver pins these paths, and older turns
 * do not change a pinned path.
 */
#pragma once

#include "unpack/snapshot/index.h"

struct history_item {
	char *path;
	struct index_entry was;
	bool pinned;
};

struct history {
	struct history_item *v; /* in the order of index.h */
	size_t n;
	uint64_t epoch;
	uint32_t turn; /* whose end the history is at */
};

void history_init(struct history *h, const struct index_head *index);
void history_done(struct history *h);
/* The file of h->turn; h is at the turn before afterwards. 0; -EBADMSG if the file is damaged or not of this chain. */
int history_back(struct history *h, int turn_fd);
/* Before history_back: the list of what was delivered after h->turn. The same results. */
int history_deliver(struct history *h, int list_fd);
