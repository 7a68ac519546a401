/*
 * budget.c - parses budgets and compares them with usage, in fixed-point integers.
 *
 * kinds[] has the scale of each kind, so sums are exact; they saturate instead of wrapping around.
 * A limit is reached when usage equals it. A tool call is counted when it starts, so there the
 * first call above the limit reaches it. A warning is due once at 80 %: `told` stores the limit
 * that it was for, so a new limit warns again.
 */
#include "usage/budget.h"

#include "base/limits.h"
#include "base/util.h"
#include "harnesses/harness.h"
#include "json/json.h"
#include "usage/cost.h"

/* scale: units inside per unit on the wire; digits: its decimal places there */
static const struct {
	const char *name;
	int64_t scale;
	unsigned digits;
} kinds[BUDGET_MAX] = {
	[BUDGET_STEPS] = { "steps", 1, 0 },
	[BUDGET_TOOL_CALLS] = { "toolCalls", 1, 0 },
	[BUDGET_SECONDS] = { "seconds", 1000, 3 },
	[BUDGET_TOKENS] = { "tokens", 1, 0 },
	[BUDGET_COST] = { "cost", COST_UNIT, COST_DIGITS },
};

const char *budget_name(enum budget_kind kind)
{
	return kinds[kind].name;
}

int budget_kind_find(struct slice name)
{
	for (int i = 0; i < BUDGET_MAX; i++)
		if (jkey_is(name, kinds[i].name))
			return i;
	return -1;
}

static bool read_limit(int kind, struct jval v, uint64_t *ret)
{
	int64_t cost, n;

	if (kind == BUDGET_COST) {
		/* A cost may have a fraction; all others are integers. */
		if (v.type != J_NUMBER || !harness_cost_parse(v.raw, &cost) || cost <= 0)
			return false;
		*ret = (uint64_t)cost;
		return true;
	}
	if (jdec_int(v, &n) < 0 || n < 1 || n > BUDGET_LIMIT_MAX)
		return false;
	/* Cannot overflow: BUDGET_LIMIT_MAX limits n. */
	*ret = (uint64_t)(n * kinds[kind].scale);
	return true;
}

int budget_parse(struct slice raw, const char *prefix, struct budget *ret, struct err *e)
{
	memset(ret, 0, sizeof(*ret));
	jobj_each(key, v, raw) {
		int kind = budget_kind_find(key);
		const char *path = SHORT_TEXT(96, "%s.%.*s", prefix, (int)MIN(key.n, 32u), key.p);

		if (kind < 0)
			return err_field(e, path, "PARAM_UNSUPPORTED",
					 "there is no such budget; known are steps, toolCalls, "
					 "seconds, tokens and cost");
		if (!read_limit(kind, v, &ret->limit[kind]))
			return err_field(e, path, "FIELD_INVALID", "%s must be a positive %s", path,
					 kind == BUDGET_COST ? "amount" : "integer");
		ret->has |= 1u << kind;
	}
	return 0;
}

int budgets_parse(struct slice raw, const char *prefix, struct budgets *ret, struct err *e)
{
	int r;

	memset(ret, 0, sizeof(*ret));
	jobj_each(key, v, raw) {
		bool turn = jkey_is(key, "turn");
		const char *path = SHORT_TEXT(64, "%s.%.*s", prefix, (int)MIN(key.n, 24u), key.p);

		if (!turn && !jkey_is(key, "session"))
			return err_field(e, path, "PARAM_UNSUPPORTED",
					 "budgets are for \"turn\" and \"session\"");
		if (v.type != J_OBJECT)
			return err_field(e, path, "FIELD_INVALID", "%s must be an object", path);
		r = budget_parse(v.raw, path, turn ? &ret->turn : &ret->session, e);
		if (r < 0)
			return r;
	}
	return 0;
}

void budget_put_amount(struct jw *w, const char *key, enum budget_kind kind, uint64_t amount)
{
	char text[COST_TEXT_SIZE];

	jw_raw(w, key, slice_of(decimal_text(amount, kinds[kind].digits, text)));
}

bool budget_load_amount(enum budget_kind kind, struct jval v, uint64_t *ret)
{
	int64_t n;

	if (v.type != J_NUMBER)
		return false;
	if (!kinds[kind].digits)
		return jdec_int(v, &n) == 0 && n >= 0 && (*ret = (uint64_t)n, true);
	if (!harness_cost_parse(v.raw, &n) || n < 0)
		return false;
	/* harness_cost_parse counts in 1/COST_UNIT, whatever the kind is; the result counts in 1/scale. */
	*ret = (uint64_t)(n / (COST_UNIT / kinds[kind].scale));
	return true;
}

static void budget_put(const struct budget *b, struct jw *w, const char *key)
{
	jw_obj(w, key);
	for (int i = 0; i < BUDGET_MAX; i++)
		if (b->has & (1u << i))
			budget_put_amount(w, kinds[i].name, i, b->limit[i]);
	jw_end_obj(w);
}

void budgets_put(const struct budgets *b, struct jw *w, const char *key)
{
	if (!b->turn.has && !b->session.has)
		return;
	jw_obj(w, key);
	budget_put(&b->turn, w, "turn");
	budget_put(&b->session, w, "session");
	jw_end_obj(w);
}

static bool budget_limits(const struct budget *b, int kind)
{
	return b->has & (1u << kind);
}

int budget_reached(const struct budget *b, unsigned which, const struct spending *used)
{
	for (int i = 0; i < BUDGET_MAX; i++) {
		/* a tool call is counted when it begins: the first one beyond the limit reaches it */
		uint64_t limit = b->limit[i] + (i == BUDGET_TOOL_CALLS);

		if (budget_limits(b, i) && (which & 1u << i) && used->used[i] >= limit)
			return i;
	}
	return -1;
}

/* Saturates: a wrapped sum would be below its limit again. */
static uint64_t sum_saturated(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

void spending_add(struct spending *to, const struct spending *more)
{
	for (int i = 0; i < BUDGET_MAX; i++)
		to->used[i] = sum_saturated(to->used[i], more->used[i]);
}

bool budget_is_reserved(const struct budget *b, const struct spending *used,
			const struct spending *reserved)
{
	for (int i = 0; i < BUDGET_MAX; i++)
		if (budget_limits(b, i) && (BUDGETS_OF_CALLS & 1u << i) &&
		    sum_saturated(used->used[i], reserved->used[i]) >= b->limit[i])
			return true;
	return false;
}

/* 80 %, rounded up; limit * 4 / 5 could overflow. */
static uint64_t warned_at(uint64_t limit)
{
	return limit - limit / 5;
}

int budget_warning(const struct budget *b, const struct spending *used, uint64_t told[BUDGET_MAX])
{
	for (int i = 0; i < BUDGET_MAX; i++)
		if (budget_limits(b, i) && told[i] != b->limit[i] &&
		    used->used[i] >= warned_at(b->limit[i])) {
			told[i] = b->limit[i];
			return i;
		}
	return -1;
}

uint64_t budget_until(const struct budget *b, enum budget_kind kind, uint64_t used,
		      const uint64_t told[BUDGET_MAX])
{
	/* First the warning, unless it was given; then the limit. */
	uint64_t limit = b->limit[kind], next = warned_at(limit);

	if (!budget_limits(b, (int)kind))
		return 0;
	if (told[kind] == limit || used >= next)
		next = limit;
	/* Never 0, which means that there is no limit. */
	return used < next ? next - used : 1;
}

/* --- estimates ------------------------------------------------------------------------------------------- */

void estimate_tokens(const struct call_size *size, uint64_t *input, uint64_t *output)
{
	*input = size->bytes / ESTIMATE_BYTES_PER_TOKEN + 1;
	*output = size->output ? MIN(size->output, ESTIMATE_OUTPUT_MAX) : ESTIMATE_OUTPUT;
}

/* By the price of a token so far. */
static uint64_t cost_of(uint64_t tokens, const struct spending *used)
{
	unsigned __int128 cost;

	/* Before the first model call everything is reserved. After calls without token counts no price
	 * can be derived, and nothing is reserved. */
	if (!used->used[BUDGET_TOKENS])
		return used->used[BUDGET_STEPS] ? 0 : UINT64_MAX;
	/* 128 bits: a cost in 1/COST_UNIT times a number of tokens exceeds 64 bits. */
	cost = (unsigned __int128)used->used[BUDGET_COST] * tokens / used->used[BUDGET_TOKENS];
	return cost > UINT64_MAX ? UINT64_MAX : (uint64_t)cost;
}

void estimate_call(const struct call_size *size, const struct spending *used, const int64_t *cost,
		   struct spending *ret)
{
	uint64_t input, output;

	estimate_tokens(size, &input, &output);
	*ret = (struct spending){
		.used = { [BUDGET_STEPS] = 1,
			  [BUDGET_TOKENS] = input + output,
			  [BUDGET_COST] = cost ? (uint64_t)*cost : cost_of(input + output, used) }
	};
}
