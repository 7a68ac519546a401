/*
 * check_answer.c - decodes what the process of a check has answered.
 *
 * The process runs as the session's user, so another process of that user can have changed its answer. The answer is
 * untrusted: members are lenient, of limited range and size, and only decoded values are passed on. judge_answer derives
 * from them whether the check holds.
 */
#include "session/parts/check/check_internal.h"

#include "json/json.h"

#define UTF8_MAX 4 /* bytes of a character */

/* Of both kinds. */
struct check_answer {
	int64_t exit_code, ms, left, passed, failed, skipped, out_total, err_total;
	bool timed_out, killed, partial, success;
	struct jval signal, exit, out, err, both;
	struct slice results, error;
};

static const struct jfield answer_fields[] = {
	JF_RAW(struct check_answer, exit, "exitCode", 0),
	JF_RAW(struct check_answer, signal, "signal", 0),
	JF_RAW(struct check_answer, out, "stdout", 0),
	JF_RAW(struct check_answer, err, "stderr", 0),
	JF_RAW(struct check_answer, both, "output", 0),
	JF_INT(struct check_answer, out_total, "stdoutTotal", JF_LENIENT, 0, INT64_MAX),
	JF_INT(struct check_answer, err_total, "stderrTotal", JF_LENIENT, 0, INT64_MAX),
	JF_INT(struct check_answer, ms, "executionTime", JF_LENIENT, 0, INT64_MAX),
	JF_INT(struct check_answer, left, "leftBehind", JF_LENIENT, 0, INT64_MAX),
	JF_INT(struct check_answer, passed, "passed", JF_LENIENT, 0, INT64_MAX),
	JF_INT(struct check_answer, failed, "failed", JF_LENIENT, 0, INT64_MAX),
	JF_INT(struct check_answer, skipped, "skipped", JF_LENIENT, 0, INT64_MAX),
	JF_BOOL(struct check_answer, timed_out, "timedOut", JF_LENIENT),
	JF_BOOL(struct check_answer, killed, "killed", JF_LENIENT),
	JF_BOOL(struct check_answer, partial, "partial", JF_LENIENT),
	JF_BOOL(struct check_answer, success, "success", JF_LENIENT),
	JF_ARR(struct check_answer, results, "results", JF_LENIENT),
	JF_OBJ(struct check_answer, error, "error", JF_LENIENT),
	JF_END,
};

static void answer_take_text(struct jval v, int64_t total, struct check_text *ret)
{
	uint64_t have;

	if (v.type != J_STRING)
		return;
	/* The decoded text is never longer than the line that it came in. */
	ret->text.max = CHECK_LINE_MAX;
	jstr_decode_bytes(v, &ret->text);
	have = buf_len(&ret->text);
	/* total: what the process counted; less than the text itself says nothing. */
	ret->cut = (uint64_t)total > have;
	ret->dropped = ret->cut ? (uint64_t)total - have : 0;
}

/* The signal's name is a word of ours: what else stands there is not passed on. */
static void answer_take_end(const struct check_answer *a, struct check_evidence *v)
{
	_cleanup_(freep) char *name = NULL;

	if (a->signal.type == J_STRING &&
	    jstr_decode(a->signal, sizeof(v->signal) - 1, &name) == 0 &&
	    strncmp(name, "SIG", 3) == 0 &&
	    !name[3 + strspn(name + 3, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-")]) {
		v->by_signal = v->ended = true;
		snprintf(v->signal, sizeof(v->signal), "%s", name);
	} else if (jdec_int(a->exit, &v->exit_code) == 0) {
		v->ended = true;
	}
}

static void add_failure(struct check_evidence *v, struct slice one)
{
	static const char *const names[] = { "suite", "name", "message" };
	JW_BUF(w, b);

	jw_obj(&w, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_(freep) char *text = NULL;

		if (jstr_decode_shown(jobj_get(one, names[i]), CHECK_FAILURE_MAX / 4, &text) == 0)
			jw_str(&w, names[i], text);
	}
	jw_end_obj(&w);
	/* One that does not fit is only counted: a result must fit into a record of the ledger. */
	if (v->nfailures < CHECK_FAILURES_MAX && buf_len(&b) <= CHECK_FAILURE_MAX &&
	    buf_len(&v->failures) + buf_len(&b) < CHECK_TEXT_MAX) {
		if (v->nfailures++)
			buf_putc(&v->failures, ',');
		buf_add_slice(&v->failures, buf_slice(&b));
	} else {
		v->more_failures++;
	}
}

static void answer_take_tests(const struct check_answer *a, struct check_evidence *v)
{
	v->tests = true;
	v->partial = a->partial;
	v->passed = a->passed;
	v->failed = a->failed;
	v->skipped = a->skipped;
	answer_take_text(a->both, 0, &v->out);
	/* that is all it keeps */
	v->out.cut = buf_len(&v->out.text) + UTF8_MAX > TEST_OUTPUT_BYTES;
	jarr_each(one, a->results)
		if (one.type == J_OBJECT && jstr_is(jobj_get(one.raw, "status"), "failed"))
			add_failure(v, one.raw);
}

void check_refuse(struct check_evidence *v, const char *reason, const char *text)
{
	err_set(&v->error, -EIO, 0, reason, "%s", text);
}

/* It could not be started, and the process says why. */
static void answer_take_error(struct slice error, struct check_evidence *v)
{
	_cleanup_(freep) char *message = NULL;

	if (jstr_decode_shown(jobj_get(error, "message"), CHECK_LINE_MAX, &message) < 0)
		message = xstrdup("its process gives no reason");
	err_set(&v->error, -EIO, 0, "CHECK_NOT_STARTED", "%.*s", (int)sizeof(v->error.msg) - 1,
		message);
	err_flatten(v->error.msg);
}

static void judge_answer(const struct check_spec *c, const struct check_answer *a,
			 struct check_evidence *v)
{
	/* Half-run tests prove nothing, whatever has passed; nor do none (minPassed, at least 1 unless the client says 0). */
	v->ok = v->ended && !v->by_signal && !a->timed_out && !a->killed;
	if (c->kind == CHECK_COMMAND)
		v->ok &= v->exit_code == c->expect_exit;
	else
		v->ok &= a->success && !v->partial && !v->failed && v->passed >= c->min_passed;
}

void check_answer_take(const struct check_spec *c, struct slice line, struct check_evidence *v)
{
	struct check_answer a = { 0 };
	struct jval whole;

	if (jscan_value(line, &whole) != JSCAN_OK || whole.type != J_OBJECT ||
	    jdec_object(whole.raw, answer_fields, NULL, &a, NULL) < 0) {
		check_refuse(v, "CHECK_LOST", "its process has answered what is no result");
		return;
	}
	if (a.error.n) {
		answer_take_error(a.error, v);
		return;
	}
	answer_take_end(&a, v);
	v->left = (uint64_t)a.left;
	if (c->kind == CHECK_TESTS) {
		answer_take_tests(&a, v);
	} else {
		answer_take_text(a.out, a.out_total, &v->out);
		answer_take_text(a.err, a.err_total, &v->err);
	}
	judge_answer(c, &a, v);
	/* After the verdict: the output so far and the exit code are reported with the error. */
	if (a.timed_out)
		check_refuse(v, "CHECK_TIMED_OUT", "its time was over, and it was ended");
	else if (!v->ended)
		check_refuse(v, "CHECK_LOST", "its process does not say how it ended");
}
