/* item.h - an item of the running turn, and how it is found: for items.c and item_list.c alone. */
#pragma once

#include "harnesses/codex/internal.h"

struct codex_item {
	struct list link;
	char *id;
	char *shown;		    /* the same, but unique in the turn: gateways repeat them */
	const struct tool_row *row; /* NULL: a message, a thought or a compaction */
	unsigned nth;		    /* of this id in the turn, from 0 */
	bool started;
	bool streamed; /* some of its text has been sent */
	bool done;
	char *tool;	   /* MCP: its name */
	struct buf body;   /* members of the tool call without id and status */
	size_t head;	   /* bytes of it that say what the call is, before its content */
	struct buf output; /* of a command so far, or an MCP tool's progress */
	size_t unsent;	   /* bytes of output not shown yet */
	char *paths;	   /* fileChange: raw changes */
};

/* It is a tool call that has not ended. */
bool codex_item_is_open(const struct codex_item *it);
struct codex_item *codex_item_newest(struct harness *h, const char *id);
/* The newest text of this id. */
struct codex_item *codex_item_text(struct harness *h, const char *id);
/* The text that this id has now: one that has not ended, or a new one. */
struct codex_item *codex_item_for_text(struct harness *h, const char *id);
/* The open call of this id that is like the item; else, unless only that will do, the first of its kind. */
struct codex_item *codex_item_same(struct harness *h, const char *id, struct slice item, bool only);
struct codex_item *codex_item_add(struct harness *h, const char *id);
/* Another item with the id of one before it. */
struct codex_item *codex_item_again(struct harness *h, const struct codex_item *before);
