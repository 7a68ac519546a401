/* testrun_parse.c - line parsers of runners; a result is held until the next one may begin. */
#include "tools/builtin/testrun/testrun_parse.h"

#include "base/limits.h"
#include "base/util.h"
#include "tools/builtin/run/command_run.h"

#include <ctype.h>

struct test_format {
	const char *name;
	/* True if it understood the line. NULL: results come from elsewhere. */
	bool (*line)(struct test_report *r, struct slice line);
	bool guessed; /* "auto" tries it */
};

/* --- results ----------------------------------------------------------------------------------------- */

static struct slice test_text_cut(struct slice s, size_t max)
{
	if (s.n > max)
		s.n = command_output_whole((struct slice){ s.p, max });
	return s;
}

void test_report_add(struct test_report *r, const struct test_case *c)
{
	static const char *const words[TEST_STATUSES] = { "passed", "failed", "skipped" };

	r->count[c->status]++;
	if (buf_len(&r->items) > TEST_RESULTS_BYTES) {
		r->unlisted++;
		return;
	}
	jw_obj(&r->out, NULL);
	jw_slice(&r->out, "name", test_text_cut(c->name, TEST_NAME_MAX));
	if (c->suite.n)
		jw_slice(&r->out, "suite", test_text_cut(c->suite, TEST_NAME_MAX));
	jw_str(&r->out, "status", words[c->status]);
	if (c->ms >= 0 && c->ms < 1e15)
		jw_int(&r->out, "durationMs", (int64_t)(c->ms + 0.5));
	if (c->message.n)
		jw_slice(&r->out, "message", test_text_cut(c->message, TEST_MESSAGE_MAX));
	jw_end_obj(&r->out);
}

/* Passes on the held result. */
static void test_report_release(struct test_report *r)
{
	struct test_case c = { .suite = buf_slice(&r->suite),
			       .name = buf_slice(&r->name),
			       .message = buf_slice(&r->message),
			       .status = r->status,
			       .ms = r->ms };

	if (r->held)
		test_report_add(r, &c);
	r->held = r->yaml = false;
	buf_reset(&r->suite);
	buf_reset(&r->name);
	buf_reset(&r->message);
}

static void test_report_hold(struct test_report *r, enum test_status status, struct slice name,
			     double ms)
{
	test_report_release(r);
	r->held = true;
	r->status = status;
	r->ms = ms;
	buf_add_slice(&r->name, test_text_cut(name, TEST_NAME_MAX));
}

void test_report_init(struct test_report *r, const struct test_format *format)
{
	*r = (struct test_report){ .format = format, .planned = -1 };
	r->out = JW(&r->items);
}

void test_report_done(struct test_report *r)
{
	buf_done(&r->items);
	buf_done(&r->suite);
	buf_done(&r->name);
	buf_done(&r->message);
	buf_done(&r->current);
	buf_done(&r->said);
	buf_done(&r->failed);
	for (int i = 0; i < TEST_LEVELS; i++)
		buf_done(&r->level[i]);
}

void test_report_end(struct test_report *r)
{
	test_report_release(r);
	test_cargo_end(r);
}

/* --- pieces of lines --------------------------------------------------------------------------------- */

static struct slice test_line_trim(struct slice s)
{
	while (s.n && isspace((unsigned char)s.p[0])) {
		s.p++;
		s.n--;
	}
	while (s.n && isspace((unsigned char)s.p[s.n - 1]))
		s.n--;
	return s;
}

/* Takes the text before the first needle; *s is the text after it. False: it does not occur. */
static bool test_line_split(struct slice *s, const char *needle, struct slice *before)
{
	size_t n = strlen(needle);
	const char *at = s->n ? memmem(s->p, s->n, needle, n) : NULL;

	if (!at)
		return false;
	*before = (struct slice){ s->p, (size_t)(at - s->p) };
	*s = (struct slice){ at + n, s->n - before->n - n };
	return true;
}

/* A decimal number at the beginning. */
static bool test_line_number(struct slice *s, double *ret)
{
	size_t i = 0;
	double v = 0, scale = 1;

	for (; i < s->n && isdigit((unsigned char)s->p[i]); i++)
		v = v * 10 + (s->p[i] - '0');
	if (i == 0)
		return false;
	if (i + 1 < s->n && s->p[i] == '.' && isdigit((unsigned char)s->p[i + 1]))
		for (i++; i < s->n && isdigit((unsigned char)s->p[i]); i++)
			v += (s->p[i] - '0') * (scale /= 10);
	*s = slice_after(*s, i);
	*ret = v;
	return true;
}

/* "12ms" or "1.5s", a word of its own at the end, is taken off. */
static double take_bare_time(struct slice *s)
{
	struct slice t = test_line_trim(*s), rest;
	size_t from = t.n;
	double v;

	while (from > 0 && t.p[from - 1] != ' ')
		from--;
	rest = slice_after(t, from);
	if (from == 0 || !test_line_number(&rest, &v) ||
	    (!slice_is(rest, "ms") && !slice_is(rest, "s")))
		return -1;
	*s = test_line_trim((struct slice){ t.p, from });
	return slice_is(rest, "ms") ? v : v * 1000;
}

/* "(1.5 ms)" or "(0.01s)" at the end is taken off. */
static double test_line_take_time(struct slice *s)
{
	struct slice t = test_line_trim(*s), rest;
	size_t open = t.n;
	double v;

	if (!t.n || t.p[t.n - 1] != ')')
		return -1;
	while (open > 0 && t.p[open - 1] != '(')
		open--;
	if (open == 0)
		return -1;
	rest = (struct slice){ t.p + open, t.n - open - 1 };
	if (!test_line_number(&rest, &v))
		return -1;
	rest = test_line_trim(rest);
	if (!slice_is(rest, "ms") && !slice_is(rest, "s"))
		return -1;
	*s = test_line_trim((struct slice){ t.p, open - 1 });
	return slice_is(rest, "ms") ? v : v * 1000;
}

struct word_status {
	const char *word;
	enum test_status status;
};

static const struct word_status *word_find(const struct word_status *rows, size_t n, struct slice s)
{
	for (size_t i = 0; i < n; i++)
		if (slice_is(s, rows[i].word))
			return &rows[i];
	return NULL;
}

/* --- TAP --------------------------------------------------------------------------------------------- */

static bool tap_directive(struct slice *name, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i + 2 + n <= name->n; i++) {
		if (name->p[i] != '#' || (i && name->p[i - 1] == '\\') ||
		    strncasecmp(name->p + i + 2, word, n) != 0)
			continue;
		*name = test_line_trim((struct slice){ name->p, i });
		return true;
	}
	return false;
}

static void tap_suite(struct test_report *r, size_t level)
{
	for (size_t i = 0; i < level; i++) {
		if (!buf_len(&r->level[i]))
			continue;
		if (buf_len(&r->suite))
			buf_puts(&r->suite, " > ");
		buf_add_slice(&r->suite, buf_slice(&r->level[i]));
	}
}

static bool tap_result(struct test_report *r, struct slice s, size_t level)
{
	bool ok = !slice_skip(&s, "not ok"), skipped, suite = r->nested[level];
	double no;

	if ((ok && !slice_skip(&s, "ok")) || !slice_skip(&s, " "))
		return false;
	s = test_line_trim(s);
	if (!test_line_number(&s, &no) && !slice_starts(s, "- "))
		return false;
	s = test_line_trim(s);
	if (slice_skip(&s, "- "))
		s = test_line_trim(s);
	skipped = tap_directive(&s, "skip") || tap_directive(&s, "todo");
	r->nested[level] = false;
	if (level)
		r->nested[level - 1] = true;
	if (suite) { /* the sum of results that have been given already */
		test_report_release(r);
	} else {
		test_report_hold(r, skipped ? TEST_SKIPPED : ok ? TEST_PASSED : TEST_FAILED, s, -1);
		tap_suite(r, level);
	}
	buf_reset(&r->level[level]);
	return true;
}

/* The YAML block after a result: its duration, and of a failure all of it. */
static void tap_yaml(struct test_report *r, struct slice s)
{
	struct slice t = test_line_trim(s);
	double ms;

	if (slice_is(t, "...")) {
		r->yaml = false;
		return;
	}
	if (slice_starts(t, "duration_ms:")) {
		slice_skip(&t, "duration_ms:");
		t = test_line_trim(t);
		if (test_line_number(&t, &ms))
			r->ms = ms;
	} else if (r->held && r->status == TEST_FAILED &&
		   buf_len(&r->message) + s.n < TEST_MESSAGE_MAX) {
		if (buf_len(&r->message))
			buf_putc(&r->message, '\n');
		buf_add_slice(&r->message, t);
	}
}

static bool tap_line(struct test_report *r, struct slice line)
{
	size_t indent = 0, level;
	struct slice s, before;
	double n;

	if (r->yaml) {
		tap_yaml(r, line);
		return true;
	}
	while (indent < line.n && line.p[indent] == ' ')
		indent++;
	level = MIN(indent / 4, TEST_LEVELS - 1u);
	s = test_line_trim(line);
	if (slice_is(s, "---")) {
		r->yaml = strcmp(r->format->name, "tap") ==
			  0; /* elsewhere it is a line of dashes */
		return r->yaml;
	}
	if (slice_skip(&s, "# Subtest: ")) {
		buf_reset(&r->level[level]);
		buf_add_slice(&r->level[level], test_text_cut(s, TEST_NAME_MAX));
		return true;
	}
	if (slice_starts(s, "TAP version "))
		return true;
	if (slice_skip(&s, "1..") && test_line_number(&s, &n)) {
		if (level == 0 && n < TEST_PLAN_MAX && (!s.n || test_line_split(&s, "#", &before)))
			r->planned = (long)n;
		return true;
	}
	return tap_result(r, s, level);
}

/* --- what other runners print ------------------------------------------------------------------------ */

static bool go_current(struct test_report *r, struct slice name)
{
	if (slice_eq(name, buf_slice(&r->current)))
		return true;
	buf_reset(&r->current);
	buf_reset(&r->said);
	buf_add_slice(&r->current, test_text_cut(name, TEST_NAME_MAX));
	return true;
}

static void go_said(struct test_report *r, struct slice line)
{
	if (buf_len(&r->current) && slice_starts(line, "    "))
		test_report_said(r, test_line_trim(line));
}

static bool go_line(struct test_report *r, struct slice line)
{
	static const struct word_status words[] = { { "PASS", TEST_PASSED },
						    { "FAIL", TEST_FAILED },
						    { "SKIP", TEST_SKIPPED } };
	const struct word_status *w;
	struct slice s = test_line_trim(line), word;
	double ms;

	if (slice_skip(&s, "=== ")) /* RUN, CONT, NAME and a test: its output is next */
		return test_line_split(&s, " ", &word) && go_current(r, test_line_trim(s));
	if (!slice_skip(&s, "--- ") || !test_line_split(&s, ": ", &word)) {
		go_said(r, line);
		return false;
	}
	w = word_find(words, ARRAY_SIZE(words), word);
	ms = test_line_take_time(&s);
	if (!w || ms < 0)
		return false;
	test_report_hold(r, w->status, s, ms);
	if (w->status == TEST_FAILED && slice_eq(s, buf_slice(&r->current)))
		buf_add_slice(&r->message, buf_slice(&r->said));
	return true;
}

static bool cargo_line(struct test_report *r, struct slice line)
{
	static const struct word_status words[] = { { "ok", TEST_PASSED },
						    { "FAILED", TEST_FAILED },
						    { "ignored", TEST_SKIPPED } };
	const struct word_status *w;
	struct slice s = line, name, plain;

	if (!slice_skip(&s, "test ") || !test_line_split(&s, " ... ", &name)) {
		test_report_release(r);
		if (strcmp(r->format->name, "cargo") == 0)
			test_cargo_line(r, line);
		return false;
	}
	w = word_find(words, ARRAY_SIZE(words), test_line_trim(s));
	if (!w && !slice_starts(s, "ignored,"))
		return false;
	if (test_line_split(&name, " - should panic", &plain))
		name = plain;
	if (w && w->status == TEST_FAILED)
		test_cargo_failed(r, name);
	else
		test_report_hold(r, w ? w->status : TEST_SKIPPED, name, -1);
	return true;
}

static bool pytest_line(struct test_report *r, struct slice line)
{
	static const struct word_status words[] = {
		{ "PASSED", TEST_PASSED },   { "FAILED", TEST_FAILED }, { "ERROR", TEST_FAILED },
		{ "SKIPPED", TEST_SKIPPED }, { "XFAIL", TEST_SKIPPED }, { "XPASS", TEST_PASSED },
	};
	struct slice s = line, name;

	if (!line.n || !memmem(line.p, line.n, "::", 2))
		return false;
	/* names of parametrized tests may hold spaces: the word that counts is the first known one */
	for (struct slice rest = s; test_line_split(&rest, " ", &name);) {
		struct slice after = rest, word;
		const struct word_status *w;

		if (!test_line_split(&after, " ", &word))
			word = rest;
		w = word_find(words, ARRAY_SIZE(words), test_line_trim(word));
		if (!w)
			continue;
		test_report_hold(
			r, w->status,
			test_line_trim((struct slice){ line.p, (size_t)(rest.p - line.p) }), -1);
		return true;
	}
	return false;
}

static bool marks_line(struct test_report *r, struct slice line)
{
	static const struct word_status marks[] = {
		{ "\xe2\x9c\x93 ", TEST_PASSED },  { "\xe2\x9c\x94 ", TEST_PASSED },
		{ "\xe2\x88\x9a ", TEST_PASSED },  { "\xe2\x9c\x95 ", TEST_FAILED },
		{ "\xe2\x9c\x96 ", TEST_FAILED },  { "\xe2\x9c\x97 ", TEST_FAILED },
		{ "\xc3\x97 ", TEST_FAILED },	   { "\xef\xb9\xa3 ", TEST_SKIPPED },
		{ "\xe2\x97\x8b ", TEST_SKIPPED }, { "\xe2\x86\x93 ", TEST_SKIPPED },
	};
	struct slice s = test_line_trim(line);

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		double ms;

		if (!slice_skip(&s, marks[i].word))
			continue;
		if (slice_is(s, "failing tests:")) { /* everything is repeated from here */
			r->over = true;
			return true;
		}
		ms = test_line_take_time(&s);
		if (ms < 0)
			ms = take_bare_time(&s);
		test_report_hold(r, marks[i].status, test_line_trim(s), ms);
		return true;
	}
	return false;
}

static const struct test_format formats[] = {
	{ "tap", tap_line, true },     { "go", go_line, true },
	{ "cargo", cargo_line, true }, { "pytest", pytest_line, true },
	{ "marks", marks_line, true }, { "auto", NULL, false },
	{ "junit", NULL, false },      { "exit", NULL, false },
};

const struct test_format *test_format_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}

bool test_format_tells(const struct test_format *f)
{
	return f->line != NULL;
}

/* Removes CSI sequences, such as colours. */
struct slice test_plain(struct slice line, struct buf *room)
{
	if (!line.n || !memchr(line.p, 0x1b, line.n))
		return line;
	for (size_t i = 0; i < line.n; i++) {
		if (line.p[i] != 0x1b) {
			buf_putc(room, line.p[i]);
			continue;
		}
		if (i + 1 < line.n && line.p[i + 1] == '[')
			for (i += 2; i < line.n && (line.p[i] < '@' || line.p[i] > '~');)
				i++;
	}
	return buf_slice(room);
}

/* As vitest, jest and mocha print them. */
static bool says_nothing_ran(struct slice line)
{
	return slice_starts(line, "No test files found") || slice_starts(line, "No tests found") ||
	       slice_starts(line, "Error: No test files found");
}

void test_report_line(struct test_report *r, struct slice line)
{
	_cleanup_(buf_done) struct buf room = { 0 };
	struct slice s = test_plain(line, &room);

	if (s.n && s.p[s.n - 1] == '\r')
		s.n--;
	if (r->over)
		return;
	r->is_empty |= says_nothing_ran(s);
	if (r->format->line) {
		r->format->line(r, s);
		return;
	}
	if (strcmp(r->format->name, "auto") != 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (!formats[i].guessed || !formats[i].line(r, s))
			continue;
		r->format = &formats[i];
		return;
	}
}
