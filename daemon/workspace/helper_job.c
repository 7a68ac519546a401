/*
 * helper_job.c - starts acpd-unpack for one job, and reads its reports.
 *
 * The daemon believes the exit code and the last report line. "done" is valid with exit code 0, or
 * if the program was killed after it. The work is complete by then, and only the cleanup is missing
 * (`torn`). Any other end is a failure. The environment is LANG alone. Closing its input makes a
 * staged job undo itself; proc_stop also sends SIGTERM, later SIGKILL, to a job that is busy.
 */
#include "workspace/helper_job.h"

#include "base/os/file.h"
#include "json/jstr.h"

#define REASON_MAX 40

struct helper_job {
	struct proc *proc;
	struct loop *loop;
	const struct helper_job_events *ev;
	void *ctx;
	char *report; /* the last line's object */
	char *word;   /* and what it is: done, refused, failed */
	bool aborted, torn;
};

char *helper_job_program(void)
{
	return file_program("ACPD_UNPACK", "acpd-unpack");
}

/* --- what it says ------------------------------------------------------------------------------------------ */

/* A later line replaces an earlier one: the last one is the result. Lines of other kinds are not errors, so that a newer
 * helper may report more. */
static int helper_on_line(void *ctx, struct slice line)
{
	static const char *const words[] = { "staged", "done", "refused", "failed" };
	struct helper_job *h = ctx;
	struct jval v;

	if (jscan_value(line, &v) != JSCAN_OK)
		return -EPROTO;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		v = jobj_get(line, words[i]);

		if (v.type != J_OBJECT)
			continue;
		if (i == 0) {
			if (h->ev->staged)
				h->ev->staged(h->ctx, v.raw);
			return 0;
		}
		free(h->report);
		h->report = xstrndup(v.raw.p, v.raw.n);
		xstrset(&h->word, words[i]);
	}
	return 0;
}

static void helper_on_closed(void *ctx _unused_, const char *fault _unused_)
{
}

/* {"reason", "path"?, "message"} as one error. */
/* The texts come from a program that has read untrusted input: they are bounded and flattened to one line. */
static void read_refusal(const struct helper_job *h, struct err *e)
{
	_cleanup_(freep) char *reason = NULL, *path = NULL, *message = NULL;
	struct slice raw = slice_of(h->report);
	bool refused = strcmp(h->word, "refused") == 0;

	jstr_decode(jobj_get(raw, "reason"), REASON_MAX, &reason);
	jstr_decode(jobj_get(raw, "path"), PATH_BYTES_MAX, &path);
	jstr_decode(jobj_get(raw, "message"), PATH_BYTES_MAX, &message);
	err_set(e, refused ? -EINVAL : -EIO, refused ? RPC_INVALID_PARAMS : RPC_INTERNAL_ERROR,
		reason ? reason : "HELPER_FAILED", "%s%s%s", path ? path : "", path ? ": " : "",
		message ? message : "acpd-unpack did not say why");
	err_flatten(e->msg);
}

static void helper_on_exit(void *ctx, const struct proc_status *st)
{
	struct helper_job *h = ctx;
	struct err e = { 0 };

	h->torn = !st->exited;
	/* it reports this when all is done, and only then cleans up */
	if (h->word && strcmp(h->word, "done") == 0 && (h->torn || st->code == 0)) {
		h->ev->done(h->ctx, slice_of(h->report), NULL);
		return;
	}
	if (h->aborted)
		err_set(&e, -ECANCELED, RPC_CANCELLED, "CANCELLED", "the job was cancelled");
	else if (h->word && strcmp(h->word, "done") != 0)
		read_refusal(h, &e);
	else
		err_set(&e, -ECHILD, RPC_INTERNAL_ERROR, "HELPER_FAILED",
			"acpd-unpack ended without a result (%s %d) %.120s",
			st->exited ? "exit" : "signal", st->code, st->stderr_tail);
	h->ev->done(h->ctx, slice_of(h->report), &e);
}

static const struct proc_events events = { helper_on_line, helper_on_closed, helper_on_exit, NULL,
					   NULL };

/* --- life ---------------------------------------------------------------------------------------------------- */

static struct proc *helper_spawn(struct proc_host *procs, const struct helper_job_spec *spec,
				 struct helper_job *h, struct err *e)
{
	_cleanup_(freep) char *program = helper_job_program(), *verb = xstrdup(spec->verb);
	char lang[] = "LANG=C.UTF-8", name[32];
	char *argv[] = { program, verb, NULL }, *env[] = { lang, NULL };
	static unsigned long count;

	/* never a session's name: a sweep after a job must find only the job's processes */
	snprintf(name, sizeof(name), "job-%lu", ++count);

	if (program)
		return proc_spawn(procs,
				  &(struct proc_spec){ .argv = argv,
						       .env = env,
						       .cwd = "/",
						       .session = name,
						       .data = spec->data,
						       .bounds = { .group = spec->group },
						       .trusted = true },
				  &events, h, e);
	err_set(e, -ENOENT, RPC_INTERNAL_ERROR, "HELPER_NOT_INSTALLED",
		"acpd-unpack is not beside acpd, nor where ACPD_UNPACK says");
	return NULL;
}

/* A job that cannot be written is aborted, and ends as any other: by done, from the loop. */
struct helper_job *helper_job_start(struct loop *loop, struct proc_host *procs,
				    const struct helper_job_spec *spec,
				    const struct helper_job_events *ev, void *ctx, struct err *e)
{
	struct helper_job *h = new0(struct helper_job);

	h->loop = loop;
	h->ev = ev;
	h->ctx = ctx;
	h->proc = helper_spawn(procs, spec, h, e);
	if (!h->proc) {
		free(h);
		return NULL;
	}
	if (proc_send(h->proc, spec->job) < 0)
		helper_job_abort(h);
	return h;
}

void helper_job_commit(struct helper_job *h)
{
	/* the child's end shows a broken pipe */
	if (!h->aborted)
		proc_send(h->proc, SLICE("commit"));
}

/* The end of its input makes a staged job undo itself. One that is still busy gets SIGTERM, later SIGKILL. */
void helper_job_abort(struct helper_job *h)
{
	if (h->aborted)
		return;
	h->aborted = true;
	proc_stop(h->proc);
}

void helper_job_kill(struct helper_job *h)
{
	h->aborted = true;
	proc_kill(h->proc);
}

bool helper_job_torn(const struct helper_job *h)
{
	return h->torn;
}

struct helper_job *helper_job_free(struct helper_job *h)
{
	if (!h)
		return NULL;
	proc_free(h->proc);
	free_each(h->report, h->word, h);
	return NULL;
}
