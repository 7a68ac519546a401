/*
 * run_stats.c - aggregates turn records of the ledger by group: counts, means, percentiles, and
 * reasons of failures.
 *
 * Every value is stored until the output, because p50 and p95 by nearest rank need the sorted
 * sample. Memory therefore grows with the number of turns. Costs are added up for each currency. A
 * record without a number does not count in the mean of that number. Names in records are untrusted
 * and flattened to one line, because they are printed on a terminal.
 */
#include "cli/usage/run_stats.h"
#include "cli/cmd.h"

#include "base/util.h"
#include "harnesses/harness.h"
#include "json/json.h"
#include "usage/cost.h"

#define WORD_MAX 256

/* Values of one kind. */
struct sample {
	int64_t *v;
	size_t n;
};

struct tally {
	char *word;
	uint64_t n;
};

/* Words and how often each was there. */
struct tallies {
	struct tally *v;
	size_t n;
};

struct money_sample {
	char *currency;
	struct sample amounts;
};

/* A turn that was not checked to its end says nothing. */
enum checked { CHECKED_VERIFIED, CHECKED_FAILED, CHECKED_MAX };

/* What a turn can be grouped by: a member of its record, or the day it began. */
enum stats_key { KEY_HARNESS, KEY_MODEL, KEY_CONFIG, KEY_BILLING, KEY_DAY, KEY_MAX };

#define COMMA ,
static const char *const key_names[KEY_MAX] = { RUN_STATS_BY(COMMA) };

struct group {
	char *key[KEY_MAX]; /* NULL: not grouped by it */
	uint64_t turns, failed, checked[CHECKED_MAX];
	struct sample tokens, input, output, millis;
	struct money_sample *costs;
	size_t ncosts;
	struct tallies stops, failures;
};

struct run_stats {
	bool by[KEY_MAX];
	struct group all, *groups;
	size_t n;
};

/* --- what is gathered ------------------------------------------------------------------------------------------ */

static void sample_add(struct sample *s, struct jval v)
{
	int64_t n;

	/* A record without the number, or with a wrong one, does not count in its mean. */
	if (jdec_int(v, &n) == 0 && n >= 0)
		*GROW(s->v, s->n) = n;
}

static void tally(struct tallies *t, const char *word)
{
	size_t i = 0;

	while (i < t->n && strcmp(t->v[i].word, word) != 0)
		i++;
	if (i == t->n)
		GROW(t->v, t->n)->word = xstrdup(word);
	t->v[i].n++;
}

/* Names come from elsewhere. */
static char *record_word(struct slice object, const char *key)
{
	return cli_shown(jobj_get(object, key), WORD_MAX);
}

static void group_take_cost(struct group *g, struct slice record)
{
	struct slice cost = jobj_get(record, "cost").raw;
	_cleanup_(freep) char *currency = record_word(cost, "currency");
	struct jval amount = jobj_get(cost, "amount");
	int64_t n;
	size_t i = 0;

	if (!currency || amount.type != J_NUMBER || !harness_cost_parse(amount.raw, &n))
		return;
	/* Amounts of different currencies are never added. */
	while (i < g->ncosts && strcmp(g->costs[i].currency, currency) != 0)
		i++;
	if (i == g->ncosts)
		GROW(g->costs, g->ncosts)->currency = TAKE_PTR(currency);
	*GROW(g->costs[i].amounts.v, g->costs[i].amounts.n) = n;
}

static void group_take_checks(struct group *g, struct slice record)
{
	struct jval verdict = jobj_get(jobj_get(record, "checks").raw, "verdict");

	if (jstr_is(verdict, "verified"))
		g->checked[CHECKED_VERIFIED]++;
	else if (jstr_is(verdict, "failed"))
		g->checked[CHECKED_FAILED]++;
}

/* A turn fails with a class; one that ends for another reason than its end is told by that reason. */
static void group_take_end(struct group *g, struct slice record)
{
	_cleanup_(freep) char *cls = record_word(jobj_get(record, "error").raw, "class"),
			      *stop = record_word(record, "stopReason");

	if (jobj_get(record, "error").type == J_OBJECT) {
		g->failed++;
		tally(&g->failures, cls ? cls : "unknown");
	} else if (stop) {
		tally(&g->stops, stop);
	}
}

static void group_add(struct group *g, struct slice record)
{
	struct slice usage = jobj_get(record, "usage").raw;

	g->turns++;
	sample_add(&g->tokens, jobj_get(usage, "totalTokens"));
	sample_add(&g->input, jobj_get(usage, "inputTokens"));
	sample_add(&g->output, jobj_get(usage, "outputTokens"));
	sample_add(&g->millis, jobj_get(record, "durationMs"));
	group_take_cost(g, record);
	group_take_checks(g, record);
	group_take_end(g, record);
}

/* The word of a record, owned; "-": it has none. */
static char *stats_key_text(struct slice record, enum stats_key key)
{
	char *word = record_word(record, key == KEY_DAY ? "tsStart" : key_names[key]);

	if (word && key == KEY_DAY)
		/* The day of a time as 2026-11-21T08:00:00Z. */
		word[strcspn(word, "T")] = '\0';
	return word ? word : xstrdup("-");
}

static void keys_free(char **key)
{
	for (int k = 0; k < KEY_MAX; k++)
		free(key[k]);
}

static bool same_keys(const struct group *g, char *const *key)
{
	for (int k = 0; k < KEY_MAX; k++)
		if (key[k] && strcmp(g->key[k], key[k]) != 0)
			return false;
	return true;
}

static struct group *stats_group(struct run_stats *s, struct slice record)
{
	char *key[KEY_MAX] = { NULL };
	struct group *g = NULL;

	for (int k = 0; k < KEY_MAX; k++)
		if (s->by[k])
			key[k] = stats_key_text(record, (enum stats_key)k);
	/* Linear: there are as many groups as harnesses, models and days. */
	for (size_t i = 0; i < s->n && !g; i++)
		if (same_keys(&s->groups[i], key))
			g = &s->groups[i];
	if (g) {
		keys_free(key);
		return g;
	}
	g = GROW(s->groups, s->n);
	/* The group owns its words from here on. */
	memcpy(g->key, key, sizeof(key));
	return g;
}

void run_stats_add(struct run_stats *s, struct slice record)
{
	/* A model call is a part of its turn, and would count twice. */
	if (!jstr_is(jobj_get(record, "type"), "turn"))
		return;
	/* The total is a group of its own: percentiles do not add up. */
	group_add(&s->all, record);
	group_add(stats_group(s, record), record);
}

/* --- what it comes to ------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

struct run_summary {
	size_t n;
	int64_t total, p50, p95;
	double mean;
};

static int64_t sample_rank(const struct sample *s, unsigned percent)
{
	/* Nearest rank: a value that was there, not one between two. */
	return s->v[(s->n * percent + 99) / 100 - 1];
}

static struct run_summary summarise(struct sample *s)
{
	struct run_summary r = { .n = s->n };

	if (!s->n)
		return r;
	/* In place: the order of a sample means nothing to anybody. */
	qsort(s->v, s->n, sizeof(*s->v), by_value);
	for (size_t i = 0; i < s->n; i++) {
		r.total = cost_sum(r.total, s->v[i]);
		r.mean += (double)s->v[i] / (double)s->n;
	}
	r.p50 = sample_rank(s, 50);
	r.p95 = sample_rank(s, 95);
	return r;
}

static void put_real(struct jw *w, const char *key, double v)
{
	jw_raw(w, key, slice_of(SHORT_TEXT(64, "%.3f", v)));
}

static void stats_put_counts(struct jw *w, const char *key, struct sample *s)
{
	struct run_summary r = summarise(s);

	if (!r.n)
		return;
	jw_obj(w, key);
	jw_uint(w, "turns", r.n);
	put_real(w, "mean", r.mean);
	jw_int(w, "p50", r.p50);
	jw_int(w, "p95", r.p95);
	jw_int(w, "total", r.total);
	jw_end_obj(w);
}

static void put_money(struct jw *w, const char *key, int64_t amount)
{
	char text[COST_TEXT_SIZE];

	jw_raw(w, key, slice_of(cost_text(amount, text)));
}

static void put_costs(struct jw *w, struct group *g)
{
	jw_arr(w, "cost");
	for (size_t i = 0; i < g->ncosts; i++) {
		struct run_summary r = summarise(&g->costs[i].amounts);

		jw_obj(w, NULL);
		jw_str(w, "currency", g->costs[i].currency);
		jw_uint(w, "turns", r.n);
		/* Rounded: money is an integer of its smallest unit (usage/cost.h). */
		put_money(w, "mean", (int64_t)(r.mean + 0.5));
		put_money(w, "p50", r.p50);
		put_money(w, "p95", r.p95);
		put_money(w, "total", r.total);
		jw_end_obj(w);
	}
	jw_end_arr(w);
}

static void put_tallies(struct jw *w, const char *key, const struct tallies *t)
{
	jw_obj(w, key);
	for (size_t i = 0; i < t->n; i++) {
		jw_lead_key(w, t->v[i].word);
		jw_uint(w, NULL, t->v[i].n);
	}
	jw_end_obj(w);
}

static uint64_t checked(const struct group *g)
{
	return g->checked[CHECKED_VERIFIED] + g->checked[CHECKED_FAILED];
}

static double pass_rate(const struct group *g)
{
	return checked(g) ? (double)g->checked[CHECKED_VERIFIED] / (double)checked(g) : 0;
}

static void stats_put_group(struct jw *w, const char *key, struct group *g)
{
	jw_obj(w, key);
	for (int k = 0; k < KEY_MAX; k++)
		jw_str(w, key_names[k], g->key[k]);
	jw_uint(w, "turns", g->turns);
	jw_uint(w, "failed", g->failed);
	stats_put_counts(w, "tokens", &g->tokens);
	stats_put_counts(w, "inputTokens", &g->input);
	stats_put_counts(w, "outputTokens", &g->output);
	stats_put_counts(w, "durationMs", &g->millis);
	put_costs(w, g);
	if (checked(g)) {
		jw_obj(w, "checks");
		jw_uint(w, "turns", checked(g));
		jw_uint(w, "verified", g->checked[CHECKED_VERIFIED]);
		put_real(w, "passRate", pass_rate(g));
		jw_end_obj(w);
	}
	put_tallies(w, "stops", &g->stops);
	put_tallies(w, "failures", &g->failures);
	jw_end_obj(w);
}

void run_stats_put(struct run_stats *s, struct jw *w)
{
	jw_obj(w, NULL);
	jw_arr(w, "groups");
	for (size_t i = 0; i < s->n; i++)
		stats_put_group(w, NULL, &s->groups[i]);
	jw_end_arr(w);
	stats_put_group(w, "all", &s->all);
	jw_end_obj(w);
}

/* --- for people ------------------------------------------------------------------------------------------------- */

static void print_counts(const char *title, struct sample *s, const char *unit)
{
	struct run_summary r = summarise(s);

	if (r.n)
		printf("  %-9s mean %.0f%s, p50 %lld, p95 %lld\n", title, r.mean, unit,
		       (long long)r.p50, (long long)r.p95);
}

static void print_tallies(const char *title, const struct tallies *t)
{
	if (!t->n)
		return;
	printf("  %-9s", title);
	for (size_t i = 0; i < t->n; i++)
		printf("%s %s %llu", i ? "," : "", t->v[i].word, (unsigned long long)t->v[i].n);
	printf("\n");
}

static void print_keys(const struct group *g)
{
	const char *before = "";

	for (int k = 0; k < KEY_MAX; k++) {
		if (!g->key[k])
			continue;
		printf("%s%s", before, g->key[k]);
		before = " ";
	}
	if (!*before)
		printf("all");
}

static void print_group(struct group *g)
{
	char mean[COST_TEXT_SIZE], total[COST_TEXT_SIZE];

	print_keys(g);
	printf(": %llu turns, %llu failed\n", (unsigned long long)g->turns,
	       (unsigned long long)g->failed);
	print_counts("tokens", &g->tokens, "");
	print_counts("time", &g->millis, " ms");
	for (size_t i = 0; i < g->ncosts; i++) {
		struct run_summary r = summarise(&g->costs[i].amounts);

		printf("  %-9s mean %s %s, total %s\n", "cost",
		       cost_text((int64_t)(r.mean + 0.5), mean), g->costs[i].currency,
		       cost_text(r.total, total));
	}
	if (checked(g))
		printf("  %-9s %llu of %llu passed (%.1f %%)\n", "checks",
		       (unsigned long long)g->checked[CHECKED_VERIFIED],
		       (unsigned long long)checked(g), 100 * pass_rate(g));
	print_tallies("ends", &g->stops);
	print_tallies("failures", &g->failures);
}

void run_stats_print(struct run_stats *s)
{
	for (size_t i = 0; i < s->n; i++)
		print_group(&s->groups[i]);
	print_group(&s->all);
}

/* --- its life ------------------------------------------------------------------------------------------------------ */

static int stats_read_by(struct run_stats *s, const char *by, struct err *e)
{
	for (const char *end = by; *end; by = end + 1) {
		struct slice word = { by, strcspn(by, ",") };
		int k = 0;

		end = by + word.n;

		while (k < KEY_MAX && !slice_is(word, key_names[k]))
			k++;
		if (k == KEY_MAX)
			return err_field(e, "--by", "FIELD_INVALID",
					 "--by: not one of " RUN_STATS_BY(" ") ": \"%.*s\"",
					 (int)MIN(word.n, (size_t)WORD_MAX), word.p);
		s->by[k] = true;
	}
	return 0;
}

struct run_stats *run_stats_new(const char *by, struct err *e)
{
	struct run_stats *s = new0(struct run_stats);

	if (stats_read_by(s, by ? by : "harness,model", e) < 0)
		return run_stats_free(s);
	return s;
}

static void tallies_done(struct tallies *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->v[i].word);
	free(t->v);
}

static void group_done(struct group *g)
{
	for (size_t i = 0; i < g->ncosts; i++)
		free_each(g->costs[i].currency, g->costs[i].amounts.v);
	free_each(g->costs, g->tokens.v, g->input.v, g->output.v, g->millis.v);
	tallies_done(&g->stops);
	tallies_done(&g->failures);
	keys_free(g->key);
}

struct run_stats *run_stats_free(struct run_stats *s)
{
	if (!s)
		return NULL;
	group_done(&s->all);
	for (size_t i = 0; i < s->n; i++)
		group_done(&s->groups[i]);
	free_each(s->groups, s);
	return NULL;
}
