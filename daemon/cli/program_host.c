#include "cli/program_host.h"

#include "base/limits.h"
#include "confine/confine_machine.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>

static void on_child(void *ctx, int signo _unused_)
{
	struct program_host *h = ctx;

	proc_host_reap(h->procs);
}

int program_host_open(struct program_host *h, const char *manifest, struct err *e)
{
	sigset_t child;

	*h = (struct program_host){ 0 };
	if (harness_table_load(&h->harnesses, manifest, e) < 0)
		return -EINVAL;
	h->loop = loop_new();
	h->procs = proc_host_new(h->loop);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	return loop_signals(h->loop, &child, on_child, h);
}

void program_host_close(struct program_host *h)
{
	h->programs = programs_free(h->programs);
	h->procs = proc_host_free(h->procs);
	harness_table_done(&h->harnesses);
	h->loop = loop_free(h->loop);
}

/* --- facts -------------------------------------------------------------------------------------------------------- */

static struct proc_bounds bounds_to_ask_in(void)
{
	struct proc_bounds b = { 0 };
	struct passwd *pw = NULL;

	if (geteuid() == 0)
		pw = getpwnam("agent");
	if (geteuid() == 0 && !pw)
		pw = getpwnam("nobody");
	if (pw) {
		b.switch_user = true;
		b.uid = pw->pw_uid;
		b.gid = pw->pw_gid;
	}
	if (!confine_machine_missing(MACHINE_FILTER))
		b.confinement = confinement_get(LEVEL_GUARDED, 0, NULL);
	return b;
}

static void on_facts(void *ctx)
{
	struct program_host *h = ctx;

	loop_quit(h->loop);
}

void program_host_facts(struct program_host *h, const char *prefix, unsigned seconds)
{
	struct programs_config c = { .harnesses = &h->harnesses,
				     .prefix = prefix,
				     .path = getenv("PATH"),
				     .bounds = bounds_to_ask_in(),
				     .timeout_ms = seconds * 1000ull };

	h->programs = programs_new(h->loop, h->procs, &c);
	programs_ask(h->programs, &h->ask, on_facts, h);
	loop_run(h->loop);
}

/* --- one program --------------------------------------------------------------------------------------------------- */

struct one_run {
	struct loop *loop;
	void (*took)(void *ctx, const struct run_result *r);
	void *ctx;
};

static void on_run_over(void *ctx, const struct run_result *r)
{
	struct one_run *run = ctx;

	run->took(run->ctx, r);
	loop_quit(run->loop);
}

int program_host_run(struct program_host *h, const struct run_spec *spec,
		     void (*took)(void *ctx, const struct run_result *r), void *ctx, struct err *e)
{
	struct one_run run = { h->loop, took, ctx };
	struct bounded_run *r = bounded_run_start(h->loop, h->procs, spec, on_run_over, &run, e);

	if (!r)
		return -EIO;
	loop_run(h->loop);
	bounded_run_free(r);
	return 0;
}
