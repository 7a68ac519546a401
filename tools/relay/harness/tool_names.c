#include "tools/relay/harness/tool_names.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/util.h"
#include "digest/digest.h"
#include "tools/mcp/msg.h"

#include <search.h>
#include <stdio.h>

#define MARK_CHARS 9 /* "_" and eight digits */
#define LONG_NAME                                                                                  \
	32 /* from here on a name with a mark is no longer than without: providers have limits */

struct tool_names {
	void *by_id, *by_key; /* trees of struct tool_name */
	size_t n;
};

static int compare_ids(const void *a, const void *b)
{
	uint64_t x = ((const struct tool_name *)a)->id, y = ((const struct tool_name *)b)->id;

	return (x > y) - (x < y);
}

static int compare_keys(const void *a, const void *b)
{
	uint64_t x = ((const struct tool_name *)a)->key, y = ((const struct tool_name *)b)->key;

	return (x > y) - (x < y);
}

struct tool_names *tool_names_new(void)
{
	return new0(struct tool_names);
}

static void entry_free(void *p)
{
	struct tool_name *t = p;

	if (t->alias != t->tool)
		free(t->alias);
	free(t->tool);
	free(t);
}

static void not_ours(void *p _unused_)
{
}

struct tool_names *tool_names_free(struct tool_names *n)
{
	if (!n)
		return NULL;
	tdestroy(n->by_key, not_ours);
	tdestroy(n->by_id, entry_free);
	free(n);
	return NULL;
}

/* If two have one hash, one only gets an alias without need. */
static uint64_t hash(const char *a, const char *b)
{
	struct sha256_stream s;
	struct sha256 sum;
	uint64_t h;

	sha256_begin(&s);
	sha256_add(&s, a, strlen(a) + 1);
	sha256_add(&s, b, strlen(b));
	sha256_end(&s, &sum);
	memcpy(&h, sum.bytes, sizeof(h));
	return h;
}

static uint64_t key_of(const char *server, const char *tool)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	mcp_name_fold(&b, server);
	buf_putc(&b, '_');
	mcp_name_fold(&b, tool);
	buf_putc(&b, '\0');
	return b.failed ? 0 : hash("", b.data);
}

static char *with_mark(const char *tool, uint64_t mark)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	size_t n;
	char *s;

	mcp_name_fold(&b, tool);
	n = buf_len(&b) >= LONG_NAME ? buf_len(&b) - MARK_CHARS : buf_len(&b);
	if (asprintf(&s, "%.*s_%08x", (int)n, n ? b.data : "", (unsigned)(mark & UINT32_MAX)) < 0)
		abort();
	return s;
}

/* A server's tool may already have the alias: then tries others, until one is free. */
static void choose_alias(const struct tool_names *n, const char *server, struct tool_name *t)
{
	t->alias = t->tool;
	t->key = key_of(server, t->tool);
	for (uint64_t mark = t->id; tfind(t, &n->by_key, compare_keys); mark++) {
		if (t->alias != t->tool)
			free(t->alias);
		t->alias = with_mark(t->tool, mark);
		t->key = key_of(server, t->alias);
	}
}

struct tool_name *tool_names_take(struct tool_names *n, const char *server, const char *tool)
{
	struct tool_name seek = { .id = hash(server, tool) };
	void *found = tfind(&seek, &n->by_id, compare_ids);
	struct tool_name *t;

	if (found)
		return *(struct tool_name **)found;
	if (n->n >= TOOL_NAMES_MAX)
		return NULL;
	t = new0(struct tool_name);
	t->id = seek.id;
	t->tool = xstrdup(tool);
	choose_alias(n, server, t);
	if (!tsearch(t, &n->by_id, compare_ids) || !tsearch(t, &n->by_key, compare_keys))
		abort();
	n->n++;
	return t;
}

const struct tool_name *tool_names_find(const struct tool_names *n, const char *server,
					const char *alias)
{
	struct tool_name seek = { .key = key_of(server, alias) };
	void *found = tfind(&seek, &n->by_key, compare_keys);
	const struct tool_name *t = found ? *(struct tool_name **)found : NULL;

	return t && strcmp(t->alias, alias) == 0 ? t : NULL;
}
