/*
 * usage.c - thread/tokenUsage/updated: `last` is one model call, `total` the thread. It is sent after every call, but
 * also when a thread is resumed, a call failed or the context ran over, without a call: only a total that has
 * grown counts. After a call that met the token limit `last` is zero, and what it took is how far the total has
 * grown. The threads of subagents have totals of their own, and their calls belong to the turn that runs.
 */
#include "harnesses/codex/internal.h"

#include "json/jdec.h"

static const struct usage_field counts[] = {
	{ "inputTokens", COUNT_INPUT },
	{ "outputTokens", COUNT_OUTPUT },
	{ "cachedInputTokens", COUNT_CACHE_READ },
	{ "cacheWriteInputTokens", COUNT_CACHE_WRITE },
	{ "reasoningOutputTokens", COUNT_REASONING },
	{ "totalTokens", COUNT_TOTAL },
};

struct meter {
	struct list link;
	char *thread;
	bool known;
	uint64_t total[ARRAY_SIZE(counts)];
};

void codex_meters_free(struct harness *h)
{
	list_drain(m, &h->meters, struct meter, link) {
		list_del(&m->link);
		free_each(m->thread, m);
	}
}

/* Only a thread that we have started certainly begins at 0. */
static struct meter *meter_of(struct harness *h, const char *thread, bool fresh)
{
	struct meter *m;

	list_each(known, &h->meters, struct meter, link)
		if (strcmp(known->thread, thread) == 0)
			return known;
	m = new0(struct meter);
	m->thread = xstrdup(thread);
	m->known = fresh;
	list_add_tail(&h->meters, &m->link);
	return m;
}

/* False: it reports no call. */
static bool take_counts(struct meter *m, struct slice total, struct slice last,
			struct harness_usage *ret)
{
	bool has_last = jobj_uint(last, "inputTokens") || jobj_uint(last, "outputTokens"),
	     grown = false;
	uint64_t now;

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		struct jval v = jobj_get(has_last ? last : total, counts[i].key);

		now = jobj_uint(total, counts[i].key);
		if (counts[i].what == COUNT_INPUT || counts[i].what == COUNT_OUTPUT)
			grown |= now > m->total[i];
		/* Sets only a valid count, so the growth below needs the bit in has. */
		harness_usage_set(ret, counts[i].what, v);
		if (!has_last && (ret->has & 1u << counts[i].what))
			ret->count[counts[i].what] = now > m->total[i] ? now - m->total[i] : 0;
		m->total[i] = now;
	}
	/* the Responses API does not report cache writes, so Codex's 0 means unknown */
	if (!ret->count[COUNT_CACHE_WRITE])
		ret->has &= ~(1u << COUNT_CACHE_WRITE);
	/* Without a known earlier total the growth is not the usage of one call. */
	return grown && (has_last || m->known);
}

static void put_context_gauge(struct harness *h, struct slice usage, struct slice last)
{
	uint64_t size = jobj_uint(usage, "modelContextWindow"),
		 used = jobj_uint(last, "totalTokens");

	if (size && used)
		codex_emit(h, UPDATE_USAGE, JW_UINT("used", used), JW_UINT("size", size));
}

void codex_on_usage(struct harness *h, struct slice params)
{
	struct slice usage = jobj_get(params, "tokenUsage").raw;
	struct slice total = jobj_get(usage, "total").raw, last = jobj_get(usage, "last").raw;
	_cleanup_(freep) char *thread = codex_str(params, "threadId");
	struct harness_usage u = { .model = h->used_model ? h->used_model : h->now.model,
				   .source = "thread/tokenUsage/updated" };
	struct meter *meter;
	bool is_own, call;

	if (!thread || !last.n)
		return;
	is_own = h->thread_id && strcmp(thread, h->thread_id) == 0;
	/* Before the returns below: totals are stored even for reports that are not counted. */
	meter = meter_of(h, thread, is_own && !h->restored);
	call = take_counts(meter, total, last, &u);
	meter->known = true;
	/* an older turn's number is what a resumed thread begins with */
	if (is_own && !(h->turn_id && jstr_is(jobj_get(params, "turnId"), h->turn_id)))
		return;
	if (call && h->turn != TURN_NONE)
		h->host.ops->usage(h->host.ctx, &u);
	if (is_own)
		codex_answer_awaited(h, false);
	if (is_own && h->turn != TURN_NONE)
		put_context_gauge(h, usage, last);
}
