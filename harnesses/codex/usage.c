/*
 * usage.c - thread/tokenUsage/updated: `last` is one model call, `total` the thread. It is sent after every call, but also
 * when a thread is resumed and when its context ran over, with no call behind it: only a total that has grown counts.
 * The threads of subagents have totals of their own, and their calls belong to the turn that runs.
 */
#include "harnesses/codex/internal.h"

#include "json/jdec.h"

static const struct {
	const char *key;
	enum harness_count what;
} counts[] = {
	{ "inputTokens", COUNT_INPUT },
	{ "outputTokens", COUNT_OUTPUT },
	{ "cachedInputTokens", COUNT_CACHE_READ },
	{ "cacheWriteInputTokens", COUNT_CACHE_WRITE },
	{ "reasoningOutputTokens", COUNT_REASONING },
	{ "totalTokens", COUNT_TOTAL },
};

static uint64_t number(struct slice object, const char *key)
{
	int64_t n;

	return jdec_int(jobj_get(object, key), &n) == 0 && n > 0 ? (uint64_t)n : 0;
}

static struct name *meter_of(struct harness *h, const char *thread)
{
	struct name *m;

	list_each(known, &h->meters, struct name, link)
		if (strcmp(known->text, thread) == 0)
			return known;
	m = new0(struct name);
	m->text = xstrdup(thread);
	list_add_tail(&h->meters, &m->link);
	return m;
}

static void report_call(struct harness *h, struct slice last)
{
	struct harness_usage u = { .model = h->used_model ? h->used_model : h->now.model,
				   .source = "thread/tokenUsage/updated.last" };

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		harness_usage_set(&u, counts[i].what, jobj_get(last, counts[i].key));
	/* the Responses API does not tell of cache writes: Codex's 0 says nothing */
	if (!u.count[COUNT_CACHE_WRITE])
		u.has &= ~(1u << COUNT_CACHE_WRITE);
	h->host.ops->usage(h->host.ctx, &u);
}

static void put_gauge(struct harness *h, struct slice usage, struct slice last)
{
	uint64_t size = number(usage, "modelContextWindow");
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	if (!size)
		return;
	jw_obj(&w, NULL);
	jw_str(&w, "sessionUpdate", "usage_update");
	jw_uint(&w, "used", number(last, "totalTokens"));
	jw_uint(&w, "size", size);
	jw_end_obj(&w);
	codex_event(h, &b);
}

void codex_on_usage(struct harness *h, struct slice params)
{
	struct slice usage = jobj_get(params, "tokenUsage").raw;
	struct slice total = jobj_get(usage, "total").raw, last = jobj_get(usage, "last").raw;
	_cleanup_(freep) char *thread = codex_str(params, "threadId");
	uint64_t sum = number(total, "inputTokens") + number(total, "outputTokens");
	struct name *meter;
	bool grown, ours;

	if (!thread || !last.n)
		return;
	meter = meter_of(h, thread);
	grown = sum > meter->number;
	meter->number = sum;
	ours = h->thread_id && strcmp(thread, h->thread_id) == 0;
	/* an older turn's number is what a resumed thread begins with */
	if (ours && !(h->turn_id && jstr_is(jobj_get(params, "turnId"), h->turn_id)))
		return;
	if (grown && h->turn != TURN_NONE)
		report_call(h, last);
	if (ours && h->turn != TURN_NONE)
		put_gauge(h, usage, last);
}
