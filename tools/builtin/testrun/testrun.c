/*
 * testrun.c - runs the shards of runTests, merges their results, and answers when the last one has
 * ended.
 *
 * Output is added to the log, the tail and the line parser as it arrives, so a run that is cut off
 * has results. A report file replaces them only if it is whole and newer than the run. Every shard
 * is judged before the first one starts, because a question to a human restarts the call. The state
 * is freed before the answer, which ends the call.
 */
#include "tools/builtin/testrun/testrun.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "base/limits.h"
#include "tools/builtin/run/command_job.h"

#include <time.h>

/* One run of the target's command. Its report and its lines are its own, the log and the tail
 * are of all. */
struct shard {
	struct testrun *all;
	unsigned no;
	struct command_spec cmd;
	struct command_run *run;
	bool ended;
	struct command_run_status status;
	struct test_report report;
	bool reported;		      /* what it wrote for machines was whole */
	struct buf line[RUN_STREAMS]; /* begun, without its end yet */
};

struct testrun {
	struct builtin_call *call;
	struct test_target target;
	struct shard shards[TEST_SHARDS_MAX];
	unsigned count, left;
	struct command_progress progress;
	struct command_output tail; /* of both streams, as they came */
	struct test_log log;
	uint64_t started;
	time_t began;
	bool is_filtered; /* not all tests were asked for */
	bool gone, over;  /* the caller is; the time is */
};

/* Removes a report that we asked for; one of the configuration belongs to the project. */
static void remove_report(const struct shard *s, unsigned no)
{
	_cleanup_(freep) char *path = NULL;

	if (!s->all || !s->all->target.runner)
		return;
	/* The report of a runner that we asked for has a random name in the tools' own
	 * directory. */
	path = test_target_report(&s->all->target, no, s->all->count, s->cmd.cwd);
	if (path)
		unlink(path);
}

static struct builtin_call *testrun_free(struct testrun *t)
{
	struct builtin_call *c = t->call;

	command_progress_end(&t->progress);
	for (unsigned i = 0; i < TEST_SHARDS_MAX; i++) {
		struct shard *s = &t->shards[i];

		command_run_free(s->run);
		remove_report(s, i + 1);
		command_done(&s->cmd);
		test_report_done(&s->report);
		buf_done(&s->line[RUN_STDOUT]);
		buf_done(&s->line[RUN_STDERR]);
	}
	test_target_done(&t->target);
	command_output_done(&t->tail);
	test_log_done(&t->log);
	c->own = NULL;
	free(t);
	return c;
}

/* --- what they print ------------------------------------------------------------------------------------ */

/* A line that is too long is read up to there. */
static void shard_add_lines(struct shard *s, struct buf *line, struct slice bytes)
{
	while (bytes.n) {
		const char *end = memchr(bytes.p, '\n', bytes.n);
		size_t n = end ? (size_t)(end - bytes.p) : bytes.n;

		if (buf_len(line) < TEST_LINE_MAX)
			buf_add(line, bytes.p, MIN(n, TEST_LINE_MAX - buf_len(line)));
		if (!end)
			return;
		test_report_line(&s->report, buf_slice(line));
		buf_reset(line);
		bytes = (struct slice){ end + 1, bytes.n - n - 1 };
	}
}

static void shard_on_output(void *ctx, enum command_run_stream stream, struct slice bytes)
{
	struct shard *s = ctx;
	struct testrun *t = s->all;

	command_output_add(&t->tail, bytes);
	test_log_add(&t->log, bytes);
	command_progress_add(&t->progress, stream, bytes);
	shard_add_lines(s, &s->line[stream], bytes);
}

/* --- its result ----------------------------------------------------------------------------------------- */

/* A report that is whole and of this run is better than what was printed. */
static void shard_read_report(struct shard *s)
{
	struct testrun *t = s->all;
	_cleanup_(freep) char *path = test_target_report(&t->target, s->no, t->count, s->cmd.cwd);
	_cleanup_(closep) int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	_cleanup_(buf_done) struct buf xml = { .max = TEST_JUNIT_MAX };
	struct test_report report;
	struct stat st;

	/* Both times are whole seconds, so a report of the second in which the run started counts
	 * as new. */
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_mtime < t->began ||
	    file_read_fd(fd, TEST_JUNIT_MAX, &xml) < 0)
		return;
	test_report_init(&report, test_format_find("junit"));
	s->reported = xml.len && xml.data[0] == '{' ?
			      test_json_read(buf_slice(&xml), s->cmd.cwd, &report) :
			      test_junit_read(buf_slice(&xml), &report);
	if (s->reported) {
		test_report_done(&s->report);
		s->report = report;
		/* The writer points into the report, which has moved. */
		s->report.out.b = &s->report.items;
	} else {
		test_report_done(&report);
	}
}

static bool ended_well(const struct shard *s)
{
	return s->status.exited && !s->status.killed && !s->status.timed_out;
}

/* A run without results of single tests is one test itself, unless the runner reports that it ran none. */
static void whole_as_one(struct shard *s)
{
	struct test_case one = { .name = slice_of(s->all->target.name),
				 .ms = (double)s->status.ms };
	bool empty = !s->report.count[TEST_PASSED] && !s->report.count[TEST_FAILED] &&
		     !s->report.count[TEST_SKIPPED];

	if (!empty || !ended_well(s) || s->reported || s->report.is_empty ||
	    test_format_tells(s->report.format))
		return;
	one.status = s->status.code == 0 ? TEST_PASSED : TEST_FAILED;
	test_report_add(&s->report, &one);
}

/* True if results may be missing: the run did not end by itself, or fewer tests ended than
 * were planned. */
static bool is_partial(const struct shard *s)
{
	const struct test_report *r = &s->report;
	unsigned n = r->count[TEST_PASSED] + r->count[TEST_FAILED] + r->count[TEST_SKIPPED];

	return !ended_well(s) || (r->planned > 0 && n < (unsigned long)r->planned);
}

struct testrun_sum {
	unsigned count[TEST_STATUSES], unlisted;
	long planned;
	bool is_partial, is_good, timed_out, killed;
};

static void testrun_sum_up(struct testrun *t, struct testrun_sum *ret)
{
	*ret = (struct testrun_sum){ .is_good = true };
	for (unsigned i = 0; i < t->count; i++) {
		const struct shard *s = &t->shards[i];

		for (int k = 0; k < TEST_STATUSES; k++)
			ret->count[k] += s->report.count[k];
		ret->unlisted += s->report.unlisted;
		ret->planned += s->report.planned > 0 ? s->report.planned : 0;
		ret->is_partial |= is_partial(s);
		ret->is_good &= ended_well(s) && s->status.code == 0;
		ret->timed_out |= s->status.timed_out;
		ret->killed |= s->status.killed;
	}
	ret->timed_out |= t->over;
}

/* The shard with the worst end decides. */
static const struct shard *worst(const struct testrun *t)
{
	for (unsigned i = 0; i < t->count; i++)
		if (!ended_well(&t->shards[i]) || t->shards[i].status.code != 0)
			return &t->shards[i];
	return &t->shards[0];
}

static void results_put(struct jw *w, const struct testrun *t)
{
	bool comma = false;

	jw_arr(w, "results");
	for (unsigned i = 0; i < t->count; i++) {
		struct slice items = buf_slice(&t->shards[i].report.items);

		if (items.n && comma)
			buf_putc(w->b, ',');
		buf_add_slice(w->b, items);
		comma |= items.n > 0;
	}
	jw_end_arr(w);
}

static void testrun_put_result(struct jw *w, struct testrun *t)
{
	_cleanup_(buf_done) struct buf tail = { 0 };
	/* The answer has one end of a command, so it is that which explains a failure. */
	const struct shard *bad = worst(t);
	struct command_run_status st = bad->status;
	struct testrun_sum sum;

	testrun_sum_up(t, &sum);
	command_output_text(&t->tail, 0, &tail);
	st.timed_out = sum.timed_out;
	st.killed = sum.killed;
	jw_bool(w, "success", sum.is_good && !sum.is_partial && !sum.count[TEST_FAILED]);
	command_put_end(w, &st);
	jw_str(w, "target", t->target.name);
	jw_str(w, "command", bad->cmd.shown);
	results_put(w, t);
	jw_uint(w, "passed", sum.count[TEST_PASSED]);
	jw_uint(w, "failed", sum.count[TEST_FAILED]);
	jw_uint(w, "skipped", sum.count[TEST_SKIPPED]);
	if (sum.unlisted)
		jw_uint(w, "unlisted", sum.unlisted);
	if (sum.planned)
		jw_int(w, "planned", sum.planned);
	jw_bool(w, "partial", sum.is_partial);
	if (t->is_filtered)
		jw_str(w, "onlyAs", t->target.by_name ? "names" : "arguments");
	jw_uint(w, "executionTime", clock_mono_ms() - t->started);
	jw_uint(w, "shards", t->count);
	jw_slice(w, "output", buf_slice(&tail));
	jw_str(w, "log", t->log.path);
}

static void testrun_finish(struct testrun *t)
{
	_cleanup_(buf_done) struct buf out = { 0 }, log = { 0 };
	struct jw w = JW(&out);
	struct err e = { 0 };

	command_progress_end(&t->progress);
	/* No client receives this; the call needs an end nevertheless. */
	if (t->gone) {
		err_set(&e, -ECANCELED, 0, "ABORTED",
			"the tests were ended, their caller has gone");
		tool_fail(testrun_free(t), &e, SLICE_NONE);
		return;
	}
	testrun_put_result(&w, t);
	test_log_text(&t->log, &log);
	tool_done_with(testrun_free(t), buf_slice(&out),
		       &(struct tool_artifact){ "tests.log", "text/plain; charset=utf-8",
						buf_slice(&log) });
}

static void shard_on_end(void *ctx, const struct command_run_status *st)
{
	struct shard *s = ctx;

	s->status = *st;
	s->ended = true;
	for (int k = 0; k < RUN_STREAMS; k++)
		/* A last line without its end. */
		if (buf_len(&s->line[k]))
			test_report_line(&s->report, buf_slice(&s->line[k]));
	test_report_end(&s->report);
	shard_read_report(s);
	whole_as_one(s);
	if (--s->all->left == 0)
		testrun_finish(s->all);
}

static const struct command_run_events events = { shard_on_output, shard_on_end };

/* --- the call ------------------------------------------------------------------------------------------- */

static int prepare_shard(struct testrun *t, unsigned i, char *const *only, struct err *e)
{
	struct shard *s = &t->shards[i];
	int r = command_common(t->call, TEST_TIME_MS, 0, &s->cmd, e);

	s->all = t;
	s->no = i + 1;
	/* The streams are kept in the tail of all shards, not by the run. */
	s->cmd.keep = 0;
	if (r < 0)
		return r;
	/* A limit in the call replaces that of the target. */
	if (t->target.timeout_ms >= 0 && jobj_get(t->call->args, "timeoutMs").type <= J_NULL &&
	    jobj_get(t->call->args, "timeoutSeconds").type <= J_NULL)
		s->cmd.timeout_ms = (uint64_t)t->target.timeout_ms;
	if (t->target.dir) {
		char *dir = t->target.dir[0] == '/' ? xstrdup(t->target.dir) :
						      file_join(s->cmd.cwd, t->target.dir);

		free(s->cmd.cwd);
		s->cmd.cwd = dir;
	}
	test_report_init(&s->report, t->target.format);
	return test_target_command(&t->target, s->no, t->count, only, &s->cmd, e);
}

static int testrun_prepare(struct testrun *t, struct err *e)
{
	struct builtin_call *c = t->call;
	_cleanup_(freep) char *name = tool_arg_str(c, "target");
	char **only = tool_arg_strv(c, "only");
	struct command_spec where = { 0 };
	int r = command_common(c, TEST_TIME_MS, 0, &where, e);

	t->is_filtered = only && only[0];
	if (r == 0)
		r = test_target_find(c, name ? name : "auto", where.cwd, &t->target, e);
	for (unsigned i = 0; r == 0 && i < t->count; i++)
		r = prepare_shard(t, i, only && only[0] ? only : NULL, e);
	/* all before the first starts: a question may come back with the whole call */
	for (unsigned i = 0; r == 0 && i < t->count; i++)
		r = command_judge(c, &t->shards[i].cmd, e);
	command_done(&where);
	strv_free(only);
	return r;
}

static void dry(struct testrun *t)
{
	JW_BUF(w, out);

	for (unsigned i = 0; i < t->count; i++)
		t->shards[i].status.exited = true;
	testrun_put_result(&w, t);
	jw_bool(&w, "dryRun", true);
	tool_done(testrun_free(t), buf_slice(&out));
}

/* One that cannot be started ends the others; the last of them ends the call. */
static void start_all(struct testrun *t)
{
	struct err e = { 0 };
	int r = 0;

	for (unsigned i = 0; i < t->count && r == 0; i++) {
		struct shard *s = &t->shards[i];

		r = command_start(t->call, &s->cmd, &events, s, &s->run, &e);
		t->left += r == 0;
	}
	if (r < 0 && t->left == 0) {
		tool_fail(testrun_free(t), &e, SLICE_NONE);
	} else if (r != 0) {
		/* The shards that run are the first ones, since the start ends with the first
		 * failure. */
		t->count = t->left;
		for (unsigned i = 0; i < t->count; i++)
			command_run_kill(t->shards[i].run);
	}
}

void testrun_start(struct builtin_call *c)
{
	struct testrun *t = new0(struct testrun);
	struct err e = { 0 };
	int r;

	c->own = t;
	t->call = c;
	t->count = (unsigned)tool_arg_int(c, "shards", 1);
	t->started = clock_mono_ms();
	t->began = time(NULL);
	command_output_init(&t->tail, TEST_OUTPUT_BYTES);
	test_log_init(&t->log);
	command_progress_init(&t->progress, toolbox_loop(c->box), c);
	r = testrun_prepare(t, &e);
	if (r < 0) {
		tool_fail(testrun_free(t), &e, SLICE_NONE);
	} else if (r > 0) {
		testrun_free(t);
	} else if (c->dry_run) {
		dry(t);
	} else {
		test_log_open(&t->log, c->box);
		start_all(t);
	}
}

void testrun_cancel(struct builtin_call *c, bool timed_out)
{
	struct testrun *t = c->own;

	if (!t)
		return;
	t->over |= timed_out;
	t->gone |= !timed_out;
	for (unsigned i = 0; i < t->count; i++) {
		struct command_run *r = t->shards[i].run;

		if (!r || t->shards[i].ended)
			continue;
		/* A timeout leaves time for a last output. A client that has gone reads none. */
		if (timed_out)
			command_run_stop(r, TOOL_KILL_MS);
		else
			command_run_kill(r);
	}
}

const struct tool_field testrun_in[] = {
	TF_STRING(
		"target", 0,
		"a configured target, or npm, pytest, go, cargo, make; auto: the one whose files are there",
		.max = 256, .fallback = "\"auto\""),
	TF_STRINGS(
		"only", 0,
		"the tests to run. vitest, jest, node --test: texts in their names; go: whole names, sub/test; cargo: texts in paths; pytest: files or ids (file::test); other commands: their arguments. The result's onlyAs says which",
		.max = RUN_ARGS_MAX),
	TF_INT("shards", 0, "parts that run at a time, if the target's command has {shard}",
	       .min = 1, .max = TEST_SHARDS_MAX),
	COMMAND_IN_COMMON,
	{ 0 },
};

static const char *const status_words[] = { "passed", "failed", "skipped", NULL };

static const char *const only_words[] = { "names", "arguments", NULL };

static const struct tool_field result_fields[] = {
	TF_STRING("name", TOOL_REQUIRED, "of the test"),
	TF_STRING("suite", 0, "that it is in"),
	TF_STRING("status", TOOL_REQUIRED, "how it ended", .words = status_words),
	TF_INT("durationMs", 0, "milliseconds"),
	TF_STRING("message", 0, "why it failed"),
	{ 0 },
};

const struct tool_field testrun_out[] = {
	COMMAND_OUT_END,
	TF_STRING("target", TOOL_REQUIRED, "what was tested"),
	TF_STRING("command", TOOL_REQUIRED, "what was run"),
	TF_OBJECTS("results", TOOL_REQUIRED, "of single tests, in the order they ended",
		   .sub = result_fields),
	TF_INT("passed", TOOL_REQUIRED, "tests"),
	TF_INT("failed", TOOL_REQUIRED, "tests"),
	TF_INT("skipped", TOOL_REQUIRED, "tests"),
	TF_INT("unlisted", 0, "tests that are counted, but not in results"),
	TF_STRING("onlyAs", 0,
		  "what only was taken for: names of tests, or arguments of the command",
		  .words = only_words),
	TF_INT("planned", 0, "tests there should have been"),
	TF_BOOL("partial", TOOL_REQUIRED, "not all tests ended: results are those that did"),
	TF_INT("executionTime", TOOL_REQUIRED, "milliseconds"),
	TF_INT("shards", TOOL_REQUIRED, "parts that ran"),
	TF_STRING("output", TOOL_REQUIRED, "the end of what they printed"),
	TF_STRING(
		"log", 0,
		"file with all of it, up to 64 MiB; kept for the last 16 runs, as long as these tools run"),
	TF_BOOL("dryRun", 0, "nothing was run"),
	{ 0 },
};
