/*
 * tool_names.c - two trees of the tools of a session: by server and tool, and by the name that
 * harnesses derive.
 *
 * Keys are 64 bits of SHA-256; a collision costs only an alias that was not needed. choose_alias
 * appends eight hex digits and counts up until no other tool has the derived name. An entry is
 * never removed, so a name means the same tool until the servers are set up again.
 */
#include "tools/relay/harness/tool_renaming.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/util.h"
#include "digest/digest.h"
#include "tools/mcp/msg.h"

#include <search.h>

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

	/* A difference of 64 bits does not fit into an int. */
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

static void tool_name_free(void *p)
{
	struct tool_name *t = p;

	/* A tool that keeps its name has one string for both. */
	if (t->alias != t->tool)
		free(t->alias);
	free_each(t->tool, t);
}

static void not_ours(void *p _unused_)
{
}

struct tool_names *tool_names_free(struct tool_names *n)
{
	if (!n)
		return NULL;
	/* by_id owns the entries and is destroyed last. */
	tdestroy(n->by_key, not_ours);
	tdestroy(n->by_id, tool_name_free);
	free(n);
	return NULL;
}

/* If two have one hash, one only gets an alias without need. */
static uint64_t tool_name_hash(const char *a, const char *b)
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

static uint64_t tool_name_key(const char *server, const char *tool)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	mcp_name_fold(&b, server);
	buf_putc(&b, '_');
	mcp_name_fold(&b, tool);
	buf_putc(&b, '\0');
	return b.failed ? 0 : tool_name_hash("", b.data);
}

static size_t folded_length(const char *name)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	mcp_name_fold(&b, name);
	return buf_len(&b);
}

/* Harnesses join server and tool by up to three pairs of "_" and a word, as in mcp__SERVER__TOOL. */
static size_t longest(const char *server)
{
	size_t n = folded_length(server) + strlen("mcp____");

	return n + TOOL_ALIAS_MIN > TOOL_ALIAS_MAX ? TOOL_ALIAS_MIN : TOOL_ALIAS_MAX - n;
}

static char *with_mark(const char *tool, uint64_t mark, size_t max)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	size_t n;
	char *s;

	mcp_name_fold(&b, tool);
	n = buf_len(&b) >= LONG_NAME ? buf_len(&b) - MARK_CHARS : buf_len(&b);
	n = MIN(n, max - MARK_CHARS);
	s = xprintf("%.*s_%08x", (int)n, n ? b.data : "", (unsigned)(mark & UINT32_MAX));
	return s;
}

/* A server's tool may already have the alias: then tries others, until one is free. */
static void choose_alias(const struct tool_names *n, const char *server, struct tool_name *t)
{
	size_t max = longest(server);
	bool fits = folded_length(t->tool) <= max;

	t->alias = t->tool;
	t->key = tool_name_key(server, t->tool);
	for (uint64_t mark = t->id; !fits || tfind(t, &n->by_key, compare_keys); mark++) {
		if (t->alias != t->tool)
			free(t->alias);
		t->alias = with_mark(t->tool, mark, max);
		t->key = tool_name_key(server, t->alias);
		fits = true;
	}
}

struct tool_name *tool_names_take(struct tool_names *n, const char *server, const char *tool)
{
	struct tool_name seek = { .id = tool_name_hash(server, tool) };
	void *found = tfind(&seek, &n->by_id, compare_ids);
	struct tool_name *t;

	if (found)
		return *(struct tool_name **)found;
	/* Entries are never removed, so a server with ever new names would fill the memory. */
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

/* alias may be folded. */
static const struct tool_name *find_alike(const struct tool_names *n, const char *server,
					  const char *alias)
{
	struct tool_name seek = { .key = tool_name_key(server, alias) };
	void *found = tfind(&seek, &n->by_key, compare_keys);

	return found ? *(struct tool_name **)found : NULL;
}

/* Exact: a name that only folds to the same is another tool's, or none's. */
const struct tool_name *tool_names_find(const struct tool_names *n, const char *server,
					const char *alias)
{
	const struct tool_name *t = find_alike(n, server, alias);

	return t && strcmp(t->alias, alias) == 0 ? t : NULL;
}

/* --- what agents say ---------------------------------------------------------------------------------------------- */

static bool is_word_end(char c)
{
	return c == '\0' || strchr("_-.", c);
}

/* The tool whose alias is these folded words, without what parts them from others. */
static const struct tool_name *find_folded(const struct tool_names *n, const char *server,
					   const char *words, size_t len)
{
	_cleanup_(freep) char *alone = NULL;
	_cleanup_(buf_done) struct buf alias = { 0 };
	const struct tool_name *t;

	while (len && is_word_end(*words))
		words++, len--;
	while (len && is_word_end(words[len - 1]))
		len--;
	alone = xstrndup(words, len);
	t = len ? find_alike(n, server, alone) : NULL;
	if (!t)
		return NULL;
	mcp_name_fold(&alias, t->alias); /* a.b of c has the key of a with b.c */
	return slice_is(buf_slice(&alias), alone) ? t : NULL;
}

const struct tool_name *tool_names_said(const struct tool_names *n, const char *server,
					const char *said)
{
	_cleanup_(buf_done) struct buf words = { 0 }, name = { 0 };
	const struct tool_name *t = NULL;

	mcp_name_fold(&words, said);
	mcp_name_fold(&name, server);
	if (buf_putc(&words, '\0') < 0 || buf_putc(&name, '\0') < 0 || !*name.data)
		return NULL;
	for (const char *at = words.data; !t && (at = strstr(at, name.data)); at++) {
		const char *after = at + name.len - 1;

		/* The server's name must be a word of its own: "git" is not in "github". */
		if ((at > words.data && !is_word_end(at[-1])) || !is_word_end(*after))
			continue;
		t = find_folded(n, server, after, strlen(after));
		if (!t)
			t = find_folded(n, server, words.data, (size_t)(at - words.data));
	}
	return t;
}
