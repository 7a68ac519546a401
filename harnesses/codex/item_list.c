/*
 * item_list.c - which item of the running turn a report is about. Gateways repeat ids: of messages, of calls that are
 * over, and of calls that are still open. Clients get ids that are unique in the turn.
 */
#include "harnesses/codex/internal.h"

/* It is a tool call that has not ended. */
static bool codex_item_is_open(const struct codex_item *it)
{
	return it->row && !it->is_done;
}

struct codex_item *codex_item_newest(struct harness *h, const char *id)
{
	struct codex_item *newest = NULL;

	list_each(it, &h->items, struct codex_item, link)
		if (id && strcmp(it->id, id) == 0)
			newest = it;
	return newest;
}

/* Only a call that is open has output, and is asked about. */
struct codex_item *codex_item_find(struct harness *h, const char *id)
{
	struct codex_item *newest = NULL;

	list_each(it, &h->items, struct codex_item, link)
		if (id && codex_item_is_open(it) && strcmp(it->id, id) == 0)
			newest = it;
	return newest ? newest : codex_item_newest(h, id);
}

struct codex_item *codex_item_find_mcp(struct harness *h, const char *tool)
{
	list_each(it, &h->items, struct codex_item, link)
		if (tool && it->tool && !it->is_done && strcmp(it->tool, tool) == 0)
			return it;
	return NULL;
}

bool codex_items_open(struct harness *h)
{
	list_each(it, &h->items, struct codex_item, link)
		if (codex_item_is_open(it))
			return true;
	return false;
}

struct codex_item *codex_item_add(struct harness *h, const char *id)
{
	struct codex_item *it = new0(struct codex_item);

	it->id = xstrdup(id);
	it->shown = xstrdup(id);
	list_add_tail(&h->items, &it->link);
	return it;
}

/* Another item with the id of one before it. */
struct codex_item *codex_item_again(struct harness *h, const struct codex_item *before)
{
	struct codex_item *it = codex_item_add(h, before->id);

	it->nth = before->nth + 1;
	free(it->shown);
	/* "id.2" for the second one: nth counts from 0. */
	it->shown = xprintf("%s.%u", it->id, it->nth + 1);
	return it;
}

struct codex_item *codex_item_text(struct harness *h, const char *id)
{
	struct codex_item *newest = NULL;

	list_each(it, &h->items, struct codex_item, link)
		if (!it->row && strcmp(it->id, id) == 0)
			newest = it;
	return newest;
}

/* A text that comes after the end of a message is another message. */
struct codex_item *codex_item_for_text(struct harness *h, const char *id)
{
	struct codex_item *it = codex_item_text(h, id);

	if (it && !it->is_done)
		return it;
	it = codex_item_newest(h, id);
	return it ? codex_item_again(h, it) : codex_item_add(h, id);
}

/* Compares the rendered heads, since Codex sends nothing else that tells two calls of one id apart. */
static bool is_alike(const struct codex_item *it, struct slice item)
{
	JW_BUF(w, b);

	it->row->head(&w, item, it->row);
	return slice_eq(buf_slice(&b), (struct slice){ buf_slice(&it->body).p, it->head });
}

/* The open call that this is about: one that looks alike, else, unless only that will do, the first of its kind. */
struct codex_item *codex_item_same(struct harness *h, const char *id, struct slice item, bool only)
{
	const struct tool_row *row = codex_tool_row(jobj_get(item, "type"));
	struct codex_item *first = NULL;

	list_each(it, &h->items, struct codex_item, link) {
		if (!codex_item_is_open(it) || it->row != row || strcmp(it->id, id) != 0)
			continue;
		if (is_alike(it, item))
			return it;
		first = first ? first : it;
	}
	return only ? NULL : first;
}
