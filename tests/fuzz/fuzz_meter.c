/* A provider's answer, whatever it is: the first byte chooses the API, the second the status. Cut anywhere, into pieces of up to 64 KiB,
 * and with values far beyond every limit, it tells the same;
 * what is complete and not refused has nothing behind it that changes a number; the JSON that passes is judged as the one
 * parser of the wire does. */
#include "fuzz.h"

#include "json/jpush.h"
#include "json/jstr.h"
#include "model/call_meter.h"

static bool same_text(const char *a, const char *b)
{
	return (!a && !b) || (a && b && strcmp(a, b) == 0);
}

static void check_same(const struct call_meter *ma, const struct call_meter *mb)
{
	struct metered a, b;

	call_meter_read(ma, &a);
	call_meter_read(mb, &b);
	FUZZ_CHECK(a.complete == b.complete && a.failed == b.failed);
	FUZZ_CHECK(a.calls_tools == b.calls_tools && a.usage.has == b.usage.has);
	for (int i = 0; i < COUNT_MAX; i++)
		FUZZ_CHECK(!(a.usage.has & 1u << i) || a.usage.count[i] == b.usage.count[i]);
	FUZZ_CHECK(a.usage.has_cost == b.usage.has_cost && a.usage.cost == b.usage.cost);
	FUZZ_CHECK(same_text(a.usage.model, b.usage.model));
	FUZZ_CHECK(same_text(a.usage.response_id, b.usage.response_id));
	FUZZ_CHECK(same_text(a.usage.finish_reason, b.usage.finish_reason));
	FUZZ_CHECK(same_text(a.service_tier, b.service_tier));
	if (!a.failed)
		return;
	FUZZ_CHECK(strcmp(a.error.cls, b.error.cls) == 0);
	FUZZ_CHECK(strcmp(a.error.message, b.error.message) == 0);
	for (const char *p = a.error.message; *p; p++)
		FUZZ_CHECK((unsigned char)*p >= 0x20);
}

/* seed 0: in one piece; else cut at places that depend on it. */
static struct call_meter *read_cut(enum model_api api, int status, struct slice body, uint32_t seed)
{
	struct call_meter *m = call_meter_new(api);

	call_meter_head(m, status, SLICE_NONE);
	while (body.n) {
		_cleanup_(exact_free) struct slice piece = fuzz_cut(&seed, &body);

		call_meter_feed(m, piece);
	}
	call_meter_end(m);
	return m;
}

static void check_cuts(enum model_api api, int status, struct slice body)
{
	struct call_meter *whole = read_cut(api, status, body, 0);

	for (uint32_t i = 1; i <= FUZZ_CUTS; i++) {
		struct call_meter *cut = read_cut(api, status, body, FUZZ_SEED(i, body));

		check_same(whole, cut);
		call_meter_free(cut);
	}
	call_meter_free(whole);
}

/* --- one text of JSON ----------------------------------------------------------------------------------------- */

struct seen {
	struct jval first; /* raw is a copy */
	bool wrong;
};

static int wants_all(void *ctx _unused_, const char *path)
{
	return strcmp(path, "usage.cost") == 0 ? 1 : 0;
}

static void on_scalar(void *ctx, int wanted, struct jval v)
{
	struct seen *s = ctx;

	FUZZ_CHECK(v.type == J_NONE || (v.type != J_OBJECT && v.type != J_ARRAY));
	FUZZ_CHECK(v.type == J_NONE || is_json(v.raw, v.type));
	if (wanted != 1)
		return;
	free((void *)(uintptr_t)s->first.raw.p);
	s->first = (struct jval){ v.type, { xstrndup(v.raw.p, v.raw.n), v.raw.n } };
}

static void check_json(struct slice text)
{
	static const struct jpush_ops ops = { wants_all, on_scalar };
	struct jval cost = jobj_get(jobj_get(text, "usage").raw, "cost");
	uint32_t seed = FUZZ_SEED(1, text);
	struct slice rest = text;
	struct seen seen = { 0 };
	struct jpush j = { 0 };

	jpush_begin(&j, &ops, &seen);
	while (rest.n) {
		_cleanup_(exact_free) struct slice piece = fuzz_cut(&seed, &rest);

		jpush_feed(&j, piece);
	}
	if (is_json(text, J_NONE))
		FUZZ_CHECK(jpush_end(&j));
	jpush_release(&j);
	if (cost.type != J_NONE && cost.type != J_OBJECT && cost.type != J_ARRAY &&
	    cost.raw.n <= JPUSH_TEXT_MAX)
		FUZZ_CHECK(seen.first.type == cost.type && slice_eq(seen.first.raw, cost.raw));
	free((void *)(uintptr_t)seen.first.raw.p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int statuses[] = { 200, 429, 500, 400 };
	struct slice body = { (const char *)data + 2, size - 2 };
	_cleanup_(buf_done) struct buf blown = { 0 };
	enum model_api api;
	int status;

	if (size < 2)
		return 0;
	api = (enum model_api)(data[0] % MODEL_API_MAX);
	status = statuses[data[1] % ARRAY_SIZE(statuses)];
	check_cuts(api, status, body);
	check_json(body);
	fuzz_blow_up(body, &blown);
	if (buf_len(&blown) > body.n) {
		check_cuts(api, status, buf_slice(&blown));
		check_json(buf_slice(&blown));
	}
	return 0;
}
