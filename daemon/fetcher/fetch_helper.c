#include "fetcher/fetcher_internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>

#define STEADY_MS 60000 /* a run that lived so long says nothing against the next */
#define WAIT_MS 250	/* before the second try in a row; doubles each time */
#define WAIT_MAX_MS 30000
#define WAITING_MAX (8 * MIB) /* that it does not read */

/* --- its end -------------------------------------------------------------------------------------------------- */

/* The next run has to wait, unless this one has lived for long. */
static void note_death(struct fetch_run *run)
{
	struct fetcher *f = run->fetcher;
	uint64_t now = clock_mono_ms();

	if (now - run->started_ms >= STEADY_MS)
		f->wait_ms = 0;
	f->not_before_ms = now + f->wait_ms;
	f->wait_ms = f->wait_ms ? MIN(2 * f->wait_ms, WAIT_MAX_MS) : WAIT_MS;
}

static void run_lost(struct fetch_run *run)
{
	if (run->lost)
		return;
	run->lost = true;
	fetch_channel_close(&run->channel);
	if (run->fetcher->run == run)
		run->fetcher->run = NULL;
	note_death(run);
	proc_kill(run->proc);
	/* one that never was ready has said why on its standard error */
	if (run->ready)
		fetch_end_all(run, FETCH_GONE, "acpd-fetch has died");
}

static void run_free(struct fetch_run *run)
{
	list_del(&run->link);
	fetch_channel_close(&run->channel);
	free(run);
}

static void on_exited(void *ctx, const struct proc_status *st)
{
	struct fetch_run *run = ctx;
	char code[16], why[FETCH_WHY_SIZE];

	snprintf(code, sizeof(code), "%d", st->code);
	log_warn("fetch", "acpd-fetch has ended", st->exited ? "exit" : "signal", code, "text",
		 st->stderr_tail);
	run_lost(run);
	snprintf(why, sizeof(why), "acpd-fetch did not start: %s %d %.150s",
		 st->exited ? "exit" : "signal", st->code, st->stderr_tail);
	fetch_end_all(run, FETCH_UNAVAILABLE, why);
	run->proc = proc_free(run->proc);
	run_free(run);
}

static int on_line(void *ctx _unused_, struct slice line _unused_)
{
	return 0;
}

static void on_stdout_closed(void *ctx _unused_, const char *fault _unused_)
{
}

static const struct proc_events proc_ops = { on_line, on_stdout_closed, on_exited };

/* --- what it says --------------------------------------------------------------------------------------------- */

static int on_frame(void *ctx, const struct fetch_frame *f, int *fd _unused_)
{
	struct fetch_run *run = ctx;

	if (f->type != FRAME_READY)
		return run->ready ? fetch_take_frame(run, f) : -EPROTO;
	if (run->ready)
		return -EPROTO;
	run->ready = true;
	return 0;
}

static void on_closed(void *ctx, const char *why)
{
	struct fetch_run *run = ctx;

	if (why)
		log_warn("fetch", "acpd-fetch is ended", "text", why);
	run_lost(run);
}

static const struct fetch_channel_ops channel_ops = { on_frame, on_closed };

/* --- its beginning -------------------------------------------------------------------------------------------- */

static struct proc *spawn(struct fetcher *f, struct fetch_run *run, int socket, struct err *e)
{
	char lang[] = "LANG=C.UTF-8", serve[] = "serve", name[32], user[16], group[16];
	char *argv[] = { f->program, serve, user, group, f->ca_file, NULL },
	     *env[] = { lang, NULL };
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (uid == 0 && fetcher_user(f->user, f->agent_user, &uid, &gid, e) < 0)
		return NULL;
	snprintf(user, sizeof(user), "%u", uid);
	snprintf(group, sizeof(group), "%u", gid);
	snprintf(name, sizeof(name), "fetch-%u", run->serial);
	return proc_spawn(f->procs,
			  &(struct proc_spec){ .argv = argv,
					       .env = env,
					       .cwd = "/",
					       .session = name,
					       .data = socket,
					       .trusted = true,
					       .standing = true },
			  &proc_ops, run, e);
}

static struct fetch_run *run_start(struct fetcher *f, struct err *e)
{
	_cleanup_(closep) int ours = -1, theirs = -1;
	_cleanup_(buf_done) struct buf settings = { 0 };
	struct fetch_run *run;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0) {
		err_set(e, -errno, 0, "OUT_OF_DESCRIPTORS", "no socket: %s", strerror(errno));
		return NULL;
	}
	ours = ends[0];
	theirs = ends[1];
	run = new0(struct fetch_run);
	list_init(&run->link);
	run->fetcher = f;
	run->serial = ++f->serial;
	run->started_ms = clock_mono_ms();
	run->proc = spawn(f, run, theirs, e);
	if (!run->proc) {
		free(run);
		return NULL;
	}
	list_add_tail(&f->runs, &run->link);
	fetch_channel_open(&run->channel, f->loop, TAKE_FD(ours), false, &channel_ops, run);
	fetch_settings_put(&settings, &f->settings);
	fetch_channel_send(&run->channel, FRAME_CONFIG, 0, buf_slice(&settings), -1);
	explicit_bzero(settings.data, settings.len);
	return run;
}

struct fetch_run *fetch_run_get(struct fetcher *f, char why[FETCH_WHY_SIZE])
{
	uint64_t now = clock_mono_ms();
	struct err e = { 0 };

	if (f->run && fetch_channel_waiting(&f->run->channel) > WAITING_MAX)
		snprintf(why, FETCH_WHY_SIZE, "acpd-fetch does not take what it is given");
	else if (f->run)
		return f->run;
	else if (!f->program)
		snprintf(why, FETCH_WHY_SIZE,
			 "acpd-fetch is not beside acpd, nor where ACPD_FETCH says");
	else if (now < f->not_before_ms)
		snprintf(why, FETCH_WHY_SIZE, "acpd-fetch has died; it is not started for %llu ms",
			 (unsigned long long)(f->not_before_ms - now));
	else if (!(f->run = run_start(f, &e)))
		snprintf(why, FETCH_WHY_SIZE, "%s", e.msg);
	return f->run;
}

void fetch_runs_end(struct fetcher *f)
{
	while (!list_empty(&f->runs)) {
		struct fetch_run *run = list_first(&f->runs, struct fetch_run, link);

		run->proc = proc_end(run->proc);
		run_free(run);
	}
	f->run = NULL;
}
