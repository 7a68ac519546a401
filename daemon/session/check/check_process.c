/* check_process.c - a command or a run of tests, in a process of the session's (tools/builtin/check/check_job.h): what
 * it is told, how long it may take, and what is believed of its answer. */
#include "session/check/check_internal.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/os/file.h"
#include "harnesses/spawn_plan.h"
#include "json/jdec.h"
#include "json/jstr.h"
#include "session/session_internal.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define UTF8_MAX 4 /* bytes of a character */

struct check_process {
	struct session *session;
	const struct check_spec *spec;
	struct check_evidence *evidence;
	struct proc *proc;
	struct loop_timer timer;
	uint64_t began;
	bool answered, overdue, flooded;
	void (*ended)(void *ctx);
	void *ctx;
};

/* --- its answer ------------------------------------------------------------------------------------------ */

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

static void take_text(struct jval v, int64_t total, struct check_text *ret)
{
	uint64_t have;

	if (v.type != J_STRING)
		return;
	ret->text.max = CHECK_LINE_MAX;
	jstr_decode_bytes(v, &ret->text);
	have = buf_len(&ret->text);
	ret->cut = (uint64_t)total > have;
	ret->dropped = ret->cut ? (uint64_t)total - have : 0;
}

/* The signal's name is a word of ours: what else stands there is not passed on. */
static void take_end(const struct check_answer *a, struct check_evidence *v)
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
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_(freep) char *text = NULL;

		if (jstr_decode(jobj_get(one, names[i]), CHECK_LINE_MAX, &text) == 0)
			jw_slice(&w, names[i],
				 (struct slice){ text, MIN(strlen(text), CHECK_FAILURE_MAX / 4) });
	}
	jw_end_obj(&w);
	if (v->nfailures < CHECK_FAILURES_MAX && buf_len(&b) <= CHECK_FAILURE_MAX &&
	    buf_len(&v->failures) + buf_len(&b) < CHECK_TEXT_MAX) {
		if (v->nfailures++)
			buf_putc(&v->failures, ',');
		buf_add_slice(&v->failures, buf_slice(&b));
	} else {
		v->more_failures++;
	}
}

static void take_tests(const struct check_answer *a, struct check_evidence *v)
{
	struct jiter it;
	struct jval one;

	v->tests = true;
	v->partial = a->partial;
	v->passed = a->passed;
	v->failed = a->failed;
	v->skipped = a->skipped;
	take_text(a->both, 0, &v->out);
	v->out.cut = buf_len(&v->out.text) + UTF8_MAX >
		     TEST_OUTPUT_BYTES; /* that is all it keeps */
	if (!a->results.n || !jiter_init(&it, (struct jval){ J_ARRAY, a->results }))
		return;
	while (jiter_next(&it, NULL, &one))
		if (one.type == J_OBJECT && jstr_is(jobj_get(one.raw, "status"), "failed"))
			add_failure(v, one.raw);
}

static void refuse(struct check_evidence *v, const char *reason, const char *text)
{
	err_set(&v->error, -EIO, 0, reason, "%s", text);
}

/* It could not be started, and the process says why. */
static void take_error(struct slice error, struct check_evidence *v)
{
	_cleanup_(freep) char *message = NULL;

	if (jstr_decode(jobj_get(error, "message"), CHECK_LINE_MAX, &message) < 0)
		message = xstrdup("its process gives no reason");
	err_set(&v->error, -EIO, 0, "CHECK_NOT_STARTED", "%.*s", (int)sizeof(v->error.msg) - 1,
		message);
	err_flatten(v->error.msg);
}

static void judge(const struct check_spec *c, const struct check_answer *a,
		  struct check_evidence *v)
{
	v->ok = v->ended && !v->by_signal && !a->timed_out && !a->killed;
	if (c->kind == CHECK_COMMAND)
		v->ok &= v->exit_code == c->expect_exit;
	else
		v->ok &= a->success && !v->partial && !v->failed && v->passed >= c->min_passed;
}

static void take_answer(struct check_process *p, struct slice line)
{
	struct check_evidence *v = p->evidence;
	struct check_answer a = { 0 };
	struct jval whole;

	if (jscan_value(line, &whole) != JSCAN_OK || whole.type != J_OBJECT ||
	    jdec_object(whole.raw, answer_fields, NULL, &a, NULL) < 0) {
		refuse(v, "CHECK_LOST", "its process has answered what is no result");
		return;
	}
	if (a.error.n) {
		take_error(a.error, v);
		return;
	}
	take_end(&a, v);
	v->left = (uint64_t)a.left;
	if (p->spec->kind == CHECK_TESTS) {
		take_tests(&a, v);
	} else {
		take_text(a.out, a.out_total, &v->out);
		take_text(a.err, a.err_total, &v->err);
	}
	judge(p->spec, &a, v);
	if (a.timed_out)
		refuse(v, "CHECK_TIMED_OUT", "its time was over, and it was ended");
	else if (!v->ended)
		refuse(v, "CHECK_LOST", "its process does not say how it ended");
}

/* --- its process ------------------------------------------------------------------------------------------ */

/* More than the one line is no fault: nothing of it counts. */
static int on_line(void *ctx, struct slice line)
{
	struct check_process *p = ctx;

	if (p->answered)
		return 0;
	p->answered = true;
	take_answer(p, line);
	return 0;
}

static void on_closed(void *ctx, const char *fault)
{
	struct check_process *p = ctx;

	p->flooded = fault != NULL;
	if (fault)
		proc_kill(p->proc);
}

static void on_exit_(void *ctx, const struct proc_status *st _unused_)
{
	struct check_process *p = ctx;

	loop_timer_cancel(&p->timer);
	p->evidence->ms = clock_mono_ms() - p->began;
	if (p->answered && !p->flooded)
		;
	else if (p->overdue)
		refuse(p->evidence, "CHECK_TIMED_OUT", "its time was over, and it was killed");
	else
		refuse(p->evidence, "CHECK_LOST",
		       p->flooded ? "its process answered too much" :
				    "its process has ended without a result");
	p->ended(p->ctx);
}

static const struct proc_events events = { on_line, on_closed, on_exit_ };

/* The process ends a command whose time is over; somebody of its user may keep it from doing so. */
static void on_overdue(void *ctx)
{
	struct check_process *p = ctx;

	p->overdue = true;
	proc_kill(p->proc);
}

static int job_file(struct slice job)
{
	_cleanup_(closep) int fd = memfd_create("acpd-check", MFD_CLOEXEC);

	if (fd < 0 || write(fd, job.p, job.n) != (ssize_t)job.n || lseek(fd, 0, SEEK_SET) < 0)
		return -1;
	return TAKE_FD(fd);
}

static void put_job(const struct check_process *p, struct slice message, struct buf *b)
{
	_cleanup_(freep) char *state = file_join(p->session->home, "tools");
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_str(&w, "kind", check_kind_name(p->spec->kind));
	jw_str(&w, "root", p->session->cwd);
	jw_str(&w, "stateDir", state);
	if (message.n)
		jw_slice(&w, "message", message);
	jw_members(&w, slice_of(p->spec->job), NULL);
	jw_end_obj(&w);
}

static int spawn(struct check_process *p, struct slice message, struct err *e)
{
	_cleanup_(freep) char *self = file_own_program();
	_cleanup_(buf_done) struct buf job = { .max = CHECK_JOB_MAX };
	_cleanup_(closep) int fd = -1;
	char word[] = "check", marker[64];
	char *argv[] = { self, word, NULL };
	struct proc_spec ps = {
		.argv = argv, .cwd = p->session->cwd, .session = marker, .line_max = CHECK_LINE_MAX
	};
	static uint64_t count;

	put_job(p, message, &job);
	fd = job.failed ? -1 : job_file(buf_slice(&job));
	if (fd < 0)
		return err_set(e, -EIO, 0, "CHECK_NOT_STARTED", "its process cannot be told of it");
	snprintf(marker, sizeof(marker), "%s.check.%llu", p->session->id,
		 (unsigned long long)++count);
	ps.bounds = session_bounds(p->session);
	ps.env = session_environ(p->session, marker);
	ps.data = fd;
	p->proc = proc_spawn(p->session->store->procs, &ps, &events, p, e);
	harness_plan_free_environ((char **)(uintptr_t)ps.env);
	return p->proc ? 0 : -EIO;
}

struct check_process *check_process_start(struct session *s, const struct check_spec *spec,
					  struct slice message, struct check_evidence *ret,
					  void (*ended)(void *ctx), void *ctx, struct err *e)
{
	struct check_process *p;

	if (session_bounds_open(s, e) < 0)
		return NULL;
	p = new0(struct check_process);
	p->session = s;
	p->spec = spec;
	p->evidence = ret;
	p->began = clock_mono_ms();
	p->ended = ended;
	p->ctx = ctx;
	if (spawn(p, message, e) < 0)
		return check_process_free(p);
	loop_timer_set(s->store->loop, &p->timer, spec->timeout_ms + CHECK_GRACE_MS, on_overdue, p);
	return p;
}

void check_process_stop(struct check_process *p)
{
	proc_stop(p->proc);
}

struct check_process *check_process_free(struct check_process *p)
{
	if (!p)
		return NULL;
	loop_timer_cancel(&p->timer);
	proc_free(p->proc);
	free(p);
	return NULL;
}
