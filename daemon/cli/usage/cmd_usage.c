/*
 * cmd_usage.c - "acpd usage" and "acpd usage verify": the usage ledger, read as a file; no daemon is needed and
 * none is disturbed.
 *
 * Without --table records are printed as they are, byte for byte. The table has a line for each turn and totals by
 * model. An absent number is shown as "-" and a sum that lacks some as "+": absent is not 0. verify reads all lines
 * and checks that none is missing or changed, from an anchor on if --from names one.
 */
#include "cli/cmd.h"

#include "base/util.h"
#include "harnesses/harness.h"
#include "json/json.h"
#include "usage/cost.h"
#include "usage/ledger/ledger_file.h"

#define TEXT_MAX 256

/* --- a record --------------------------------------------------------------------------------------------- */

enum text {
	TEXT_TYPE,
	TEXT_SESSION,
	TEXT_TIME,
	TEXT_HARNESS,
	TEXT_PROVIDER,
	TEXT_MODEL,
	TEXT_STOP,
	TEXTS
};
enum count { COUNTS = 6 };

static const char *const text_keys[TEXTS] = { "type",	  "sessionId", "tsEnd",	    "harness",
					      "provider", "model",     "stopReason" };
static const char *const count_keys[COUNTS] = { "inputTokens",	   "outputTokens",
						"cacheReadTokens", "cacheWriteTokens",
						"reasoningTokens", "totalTokens" };
static const char *const count_titles[COUNTS] = { "input",	 "output",    "cache-read",
						  "cache-write", "reasoning", "total" };

/* What the table shows; the texts are owned, NULL: absent. A malformed member counts as absent. */
struct usage_turn {
	char *text[TEXTS], *error, *currency;
	int64_t turn, count[COUNTS], cost;
	bool has_cost;
	bool has[COUNTS];
};

static void turn_read(struct slice line, struct usage_turn *t)
{
	struct jslot counts[COUNTS], cost[] = { { .key = "amount" }, { .key = "currency" } };
	struct jslot error[] = { { .key = "class" } };
	struct jslot top[TEXTS + 4] = {
		{ .key = "turn" },
		{ .key = "error", .sub = error, .nsub = 1 },
		{ .key = "usage", .sub = counts, .nsub = COUNTS },
		{ .key = "cost", .sub = cost, .nsub = 2 },
	};

	*t = (struct usage_turn){ .turn = 0 };
	for (size_t i = 0; i < COUNTS; i++)
		counts[i] = (struct jslot){ .key = count_keys[i] };
	for (size_t i = 0; i < TEXTS; i++)
		top[4 + i] = (struct jslot){ .key = text_keys[i] };
	/* One pass over the line fills all slots. */
	if (jscan_object(line, top, ARRAY_SIZE(top)) != JSCAN_OK)
		return;
	jdec_int(top[0].v, &t->turn);
	t->error = cli_shown(error[0].v, TEXT_MAX);
	for (size_t i = 0; i < COUNTS; i++)
		t->has[i] = jdec_int(counts[i].v, &t->count[i]) == 0 && t->count[i] >= 0;
	for (size_t i = 0; i < TEXTS; i++)
		t->text[i] = cli_shown(top[4 + i].v, TEXT_MAX);
	t->currency = cli_shown(cost[1].v, TEXT_MAX);
	t->has_cost = t->currency && cost[0].v.type == J_NUMBER &&
		      harness_cost_parse(cost[0].v.raw, &t->cost);
}

static void turn_done(struct usage_turn *t)
{
	for (size_t i = 0; i < TEXTS; i++)
		free(t->text[i]);
	free_each(t->error, t->currency);
}

/* --- totals ----------------------------------------------------------------------------------------------- */

struct money {
	char *currency;
	int64_t amount;
};

struct total {
	char *name;
	uint64_t turns, with_cost, with[COUNTS];
	int64_t count[COUNTS];
	struct money *costs;
	size_t ncosts;
};

static void total_add_cost(struct total *to, const char *currency, int64_t amount)
{
	size_t i = 0;

	while (i < to->ncosts && strcmp(to->costs[i].currency, currency) != 0)
		i++;
	if (i == to->ncosts)
		/* A sum for each currency, in the order in which they came. */
		GROW(to->costs, to->ncosts)->currency = xstrdup(currency);
	to->costs[i].amount = cost_sum(to->costs[i].amount, amount);
	to->with_cost++;
}

static void total_add(struct total *to, const struct usage_turn *t)
{
	to->turns++;
	for (size_t i = 0; i < COUNTS; i++) {
		to->count[i] = cost_sum(to->count[i], t->has[i] ? t->count[i] : 0);
		to->with[i] += t->has[i];
	}
	if (t->has_cost)
		total_add_cost(to, t->currency, t->cost);
}

static void total_done(struct total *t)
{
	for (size_t i = 0; i < t->ncosts; i++)
		free(t->costs[i].currency);
	free_each(t->costs, t->name);
}

/* A sum that lacks some turns is marked: absent is not 0. */
static void print_count(int64_t n, uint64_t with, uint64_t of)
{
	char text[32] = "-";

	if (with)
		snprintf(text, sizeof(text), "%lld%s", (long long)n, with < of ? "+" : "");
	printf(" %12s", text);
}

static void print_total(const struct total *t)
{
	char cost[COST_TEXT_SIZE];

	printf("%-40s %8llu", t->name, (unsigned long long)t->turns);
	for (size_t i = 0; i < COUNTS; i++)
		print_count(t->count[i], t->with[i], t->turns);
	printf("  %s", t->ncosts ? "" : "-");
	for (size_t i = 0; i < t->ncosts; i++)
		printf("%s%s %s", i ? ", " : "", cost_text(t->costs[i].amount, cost),
		       t->costs[i].currency);
	printf("%s\n", t->ncosts && t->with_cost < t->turns ? "+" : "");
}

/* --- printing --------------------------------------------------------------------------------------------- */

struct print {
	const struct config *c;
	struct total all, *models;
	size_t nmodels;
};

static struct total *total_of_model(struct print *p, const struct usage_turn *t)
{
	const char *provider = t->text[TEXT_PROVIDER], *model = t->text[TEXT_MODEL];
	_cleanup_(freep) char *name = NULL;
	size_t i = 0;

	name = xprintf("%s%s%s", provider ? provider : "", provider ? "/" : "",
		       model ? model : "-");
	while (i < p->nmodels && strcmp(p->models[i].name, name) != 0)
		i++;
	/* One row for each model of each provider, in the order of their first turn. */
	if (i == p->nmodels)
		GROW(p->models, p->nmodels)->name = TAKE_PTR(name);
	return &p->models[i];
}

static const char *or_dash(const char *s)
{
	return s && *s ? s : "-";
}

static void print_turn(uint64_t n, const struct usage_turn *t)
{
	char cost[COST_TEXT_SIZE];

	/* The time without its fraction and zone: 19 characters. */
	printf("%6llu %-19.19s %-36s %5lld %-10s %-28s %-16s", (unsigned long long)n,
	       or_dash(t->text[TEXT_TIME]), or_dash(t->text[TEXT_SESSION]), (long long)t->turn,
	       or_dash(t->text[TEXT_HARNESS]), or_dash(t->text[TEXT_MODEL]),
	       or_dash(t->error ? t->error : t->text[TEXT_STOP]));
	for (size_t i = 0; i < COUNTS; i++)
		print_count(t->count[i], t->has[i], 1);
	printf("  %s%s%s\n", t->has_cost ? cost_text(t->cost, cost) : "-", t->has_cost ? " " : "",
	       t->has_cost ? t->currency : "");
}

static void print_titles(void)
{
	for (size_t i = 0; i < COUNTS; i++)
		printf(" %12s", count_titles[i]);
	printf("  %s\n", "cost");
}

static bool on_row(void *ctx, uint64_t n, struct slice line)
{
	struct print *p = ctx;
	struct usage_turn t;

	turn_read(line, &t);
	/* a model call is a part of its turn */
	if (t.text[TEXT_TYPE] && strcmp(t.text[TEXT_TYPE], "turn") == 0 &&
	    (!p->c->session ||
	     (t.text[TEXT_SESSION] && strcmp(t.text[TEXT_SESSION], p->c->session) == 0))) {
		print_turn(n, &t);
		total_add(total_of_model(p, &t), &t);
		total_add(&p->all, &t);
	}
	turn_done(&t);
	/* A reader that has gone ends the reading of a long ledger. */
	return !ferror(stdout);
}

static int print_table(struct print *p, const struct ledger_files *f, uint64_t *skipped,
		       struct err *e)
{
	int r;

	/* Its row is printed last, under those of the models. */
	p->all.name = xstrdup("all");
	printf("%6s %-19s %-36s %5s %-10s %-28s %-16s", "n", "ended", "session", "turn", "harness",
	       "model", "result");
	print_titles();
	r = ledger_files_read(f, (uint64_t)p->c->since, on_row, p, skipped, e);
	printf("\n%-40s %8s", "totals", "turns");
	print_titles();
	for (size_t i = 0; i < p->nmodels; i++) {
		print_total(&p->models[i]);
		total_done(&p->models[i]);
	}
	print_total(&p->all);
	total_done(&p->all);
	free(p->models);
	printf("-: not reported; +: not reported by all turns\n");
	return r;
}

static bool on_usage_record(void *ctx, uint64_t n _unused_, struct slice line)
{
	struct print *p = ctx;

	if (!p->c->session || jstr_is(jobj_get(line, "sessionId"), p->c->session)) {
		fwrite(line.p, 1, line.n, stdout);
		putchar('\n');
	}
	return !ferror(stdout);
}

/* --- the commands ----------------------------------------------------------------------------------------- */

/* The paths of --file, else all of the state directory; "": there is none. */
static const char *ledger_paths(const struct config *c)
{
	return c->file ? c->file : c->state ? c->state : "";
}

static int open_usage_ledger(const struct config *c, struct ledger_files *ret)
{
	const char *paths = ledger_paths(c);
	struct err e;

	if (!*paths)
		return fail(EXIT_USAGE, "--state or --file is needed: there is no home directory");
	if (ledger_files_open(ret, paths, &e) < 0)
		return fail(EXIT_FAILED, "%s", e.msg);
	return EXIT_DONE;
}

int cmd_usage(const struct config *c)
{
	_cleanup_(ledger_files_done) struct ledger_files files = { 0 };
	struct print p = { .c = c };
	uint64_t skipped = 0;
	struct err e;
	int r;

	if (c->json && c->table)
		return fail(EXIT_USAGE, "--json and --table exclude each other");
	r = open_usage_ledger(c, &files);
	if (r != EXIT_DONE)
		return r;
	if (c->table)
		r = print_table(&p, &files, &skipped, &e);
	else
		r = ledger_files_read(&files, (uint64_t)c->since, on_usage_record, &p, &skipped,
				      &e);
	if (r < 0)
		return fail(EXIT_FAILED, "%s", e.msg);
	r = flushed(EXIT_DONE);
	if (r == EXIT_DONE && skipped)
		r = fail(EXIT_FAILED, "%s: %llu lines are no records and were left out",
			 ledger_paths(c), (unsigned long long)skipped);
	return r;
}

static void print_report_json(const struct ledger_report *rep, const char *path, bool asked)
{
	JW_BUF(w, b);

	jw_obj(&w, NULL);
	jw_bool(&w, "ok", !rep->first_bad);
	jw_uint(&w, "records", rep->records);
	jw_uint(&w, "incarnations", rep->incarnations);
	if ((asked || rep->anchored) && rep->records) {
		jw_uint(&w, "first", rep->first);
		jw_uint(&w, "last", rep->last);
		jw_str(&w, "digest", rep->digest);
	}
	if (rep->anchored)
		jw_bool(&w, "anchored", true);
	if (rep->first_bad) {
		jw_str(&w, "file", path);
		jw_uint(&w, "line", rep->first_bad);
		jw_str(&w, "reason", rep->reason);
	}
	jw_end_obj(&w);
	print_json(buf_slice(&b));
}

static void print_text(const struct ledger_report *rep, const char *path)
{
	if (rep->first_bad) {
		fail(EXIT_FAILED, "%s: line %llu: %s", path, (unsigned long long)rep->first_bad,
		     rep->reason);
		return;
	}
	printf("ok: %llu records, %llu incarnations", (unsigned long long)rep->records,
	       (unsigned long long)rep->incarnations);
	if (rep->anchored)
		printf(", from record %llu, anchored", (unsigned long long)rep->first);
	printf("\n");
}

int cmd_usage_verify(const struct config *c)
{
	_cleanup_(ledger_files_done) struct ledger_files files = { 0 };
	struct ledger_anchor anchor = { 0 };
	struct ledger_report rep;
	const char *path;
	struct err e;
	int r;

	/* Before the ledger is opened: a wrong option is EXIT_USAGE, whatever the ledger holds. */
	if (c->from && !ledger_anchor_parse(c->from, &anchor))
		return fail(EXIT_USAGE, "--from: '%s' is not N:DIGEST, a number and 64 hex digits",
			    c->from);
	r = open_usage_ledger(c, &files);
	if (r != EXIT_DONE)
		return r;
	if (ledger_files_verify(&files, &anchor, &rep, &e) < 0)
		return fail(EXIT_FAILED, "%s", e.msg);
	/* The file of the first bad line; of several files each has its own numbers. */
	path = rep.file ? files.part[rep.file - 1].path : "";
	if (c->json)
		print_report_json(&rep, path, c->from != NULL);
	else
		print_text(&rep, path);
	return flushed(rep.first_bad ? EXIT_FAILED : EXIT_DONE);
}
