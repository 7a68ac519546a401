/*
 * answer_strings.c - tokenizes the JSON of one event, and groups its strings into texts that
 * continue over events.
 *
 * A secret can be split over events, so strings are joined before they are searched. `stream`
 * identifies a text: a hash (FNV-1a) of the names above it, mixed with every index member, equal in
 * the next event. An index can follow the string, so leave() mixes it in when the object ends.
 * Invalid JSON is accepted: an answer can be cut anywhere.
 */
#include "session/core/redact/answer_strings.h"

#include "base/util.h"

/* --- names ------------------------------------------------------------------------------------------------------ */

static uint64_t fnv(uint64_t h, struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (uint8_t)s.p[i]) * 0x100000001b3;
	/* 0xff is in no UTF-8 text: it separates names, so that "ab","c" and "a","bc" differ. */
	return (h ^ 0xff) * 0x100000001b3;
}

static bool name_among(struct slice name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (slice_is(name, names[i]))
			return true;
	return false;
}

static bool begins_streams(struct slice name)
{
	static const char *const names[] = { "delta", "choices", "parts", "content_block" };

	return name_among(name, names, ARRAY_SIZE(names));
}

/* The same in every event of an answer, or once in it. */
static bool is_word_of_api(struct slice name)
{
	static const char *const names[] = {
		"id",	 "type", "role",    "status",  "finish_reason", "finishReason", "object",
		"model", "name", "call_id", "item_id", "mimeType",	"stop_reason"
	};

	return name_among(name, names, ARRAY_SIZE(names));
}

static bool is_index(struct slice name)
{
	static const char suffix[] = "_index";
	size_t n = sizeof(suffix) - 1;

	return slice_is(name, "index") ||
	       (name.n > n && memcmp(name.p + name.n - n, suffix, n) == 0);
}

static bool is_tokens(struct slice name)
{
	return slice_is(name, "logprobs") || slice_is(name, "logprobsResult");
}

/* --- where it is --------------------------------------------------------------------------------------------------- */

static void value_of_level(struct answer_strings *x)
{
	x->next = x->levels[x->depth];
	x->key = !x->beyond && x->next.object;
	x->is_word = x->is_index = x->is_tokens = false;
}

static void take_name(struct answer_strings *x, struct slice name)
{
	const struct answer_level *in = &x->levels[x->depth];

	x->key = false;
	/* Text that begins in a content_block goes on in deltas. */
	x->next.path = fnv(in->path, slice_is(name, "content_block") ? SLICE("delta") : name);
	x->next.streams = in->streams || begins_streams(name);
	x->is_word = is_word_of_api(name);
	x->is_index = is_index(name);
	x->is_tokens = is_tokens(name);
	x->name = fnv(1, name);
}

static void answer_enter(struct answer_strings *x, bool object, size_t at)
{
	/* Too deep: these levels are only counted, so that their ends match. */
	if (x->depth + 1 == ARRAY_SIZE(x->levels)) {
		x->beyond++;
		x->key = false;
		return;
	}
	x->levels[++x->depth] =
		(struct answer_level){ object, x->next.streams, x->next.path, 0, x->n };
	if (x->is_tokens && !x->tokens_depth) {
		x->tokens_depth = x->depth;
		x->tokens_at = at;
	}
	value_of_level(x);
}

static void end_tokens(struct answer_strings *x, size_t end)
{
	x->tokens_depth = 0;
	x->last = end;
	if (end - x->tokens_at > 2)
		x->ops->tokens(x->ctx, x->tokens_at, end - x->tokens_at);
}

static void answer_leave(struct answer_strings *x, size_t end)
{
	const struct answer_level *in = &x->levels[x->depth];

	if (x->beyond) {
		x->beyond--;
		return;
	}
	if (!x->depth)
		return;
	/* Strings of this object, also those before the index. `| 1`: streams of strings are odd (masked_answer.c). */
	for (size_t i = in->first; in->index && i < x->n; i++)
		x->list[i].stream = (x->list[i].stream ^ in->index) * 0x100000001b3 | 1;
	if (x->tokens_depth == x->depth)
		end_tokens(x, end);
	x->depth--;
	value_of_level(x);
	x->key = false;
}

/* --- values --------------------------------------------------------------------------------------------------------- */

/* At the opening quote; returns where the closing one is, or the end. */
static size_t string_end(const char *event, size_t at, size_t end)
{
	for (at++; at < end && event[at] != '"'; at++)
		at += event[at] == '\\';
	return MIN(at, end);
}

static void take_value(struct answer_strings *x, size_t at, size_t n)
{
	if (x->next.streams && !x->is_word && n)
		*GROW(x->list, x->n) = (struct answer_string){ at, n, x->next.path | 1 };
	else if (n)
		x->ops->whole(x->ctx, at, n);
}

static size_t answer_take_string(struct answer_strings *x, const char *event, size_t at, size_t end)
{
	size_t close = string_end(event, at, end), n = close - at - 1;

	if (!x->tokens_depth && at > x->last)
		x->ops->between(x->ctx, x->last, at - x->last);
	x->last = MIN(close + 1, end);
	if (!x->key && !x->tokens_depth) {
		take_value(x, at + 1, n);
	} else if (!x->tokens_depth) {
		x->ops->whole(x->ctx, at + 1, n);
		take_name(x, (struct slice){ event + at + 1, n });
	}
	return x->last;
}

/* The number of an index; 0 says no more than none. */
static size_t take_index(struct answer_strings *x, const char *event, size_t at, size_t end)
{
	size_t n = 0;

	while (at + n < end && event[at + n] >= '0' && event[at + n] <= '9')
		n++;
	if (n > 1 || event[at] != '0')
		x->levels[x->depth].index ^= fnv(x->name, (struct slice){ event + at, n });
	x->is_index = false;
	return at + n;
}

static size_t take_byte(struct answer_strings *x, char c, size_t at)
{
	if (c == '{' || c == '[')
		answer_enter(x, c == '{', at);
	else if (c == '}' || c == ']')
		answer_leave(x, at + 1);
	else if (c == ',')
		value_of_level(x);
	return at + 1;
}

void answer_strings_begin(struct answer_strings *x, const struct answer_strings_ops *ops, void *ctx)
{
	x->ops = ops;
	x->ctx = ctx;
	x->n = x->last = x->end = 0;
	x->depth = x->beyond = x->tokens_depth = 0;
	x->levels[0] = (struct answer_level){ .path = fnv(0, SLICE("answer")) };
	value_of_level(x);
}

void answer_strings_take(struct answer_strings *x, const char *event, size_t at, size_t end)
{
	x->last = at;
	x->end = end;
	while (at < end) {
		if (event[at] == '"')
			at = answer_take_string(x, event, at, end);
		else if (x->is_index && event[at] >= '0' && event[at] <= '9')
			at = take_index(x, event, at, end);
		else
			at = take_byte(x, event[at], at);
	}
	if (!x->tokens_depth && end > x->last)
		x->ops->between(x->ctx, x->last, end - x->last);
}

void answer_strings_end(struct answer_strings *x)
{
	/* The answer was cut off. Indexes of open objects count as in complete ones. */
	while (x->depth || x->beyond)
		answer_leave(x, x->end);
}
