/*
 * standing.c - supervises acpd-fetch or acpd-proxy: start at first use, loss, delayed restart.
 *
 * A run ends when its socket or its process ends, and the next can start before the process is
 * reaped. The program is untrusted: a frame before `ready`, which reports its confinement, ends the
 * run. ended() is called once for each run. A run that was never ready reports at exit, when its
 * stderr is complete. Restarts are delayed up to WAIT_MAX_MS, unless the last run lived for
 * STEADY_MS.
 */
#include "proc/standing.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "json/jenc.h"

#include <pwd.h>
#include <sys/socket.h>

#define STEADY_MS 60000 /* a run that lived so long says nothing against the next */
#define WAIT_MS 250	/* before the second try in a row; doubles each time */
#define WAIT_MAX_MS 30000
#define WAITING_MAX (8 * MIB) /* that it does not read */

/* --- its end -------------------------------------------------------------------------------------------------- */

/* The next run has to wait, unless this one has lived for long. */
static void run_delay_next(struct standing_run *run)
{
	struct standing *s = run->of;
	uint64_t now = clock_mono_ms();

	if (now - run->started_ms >= STEADY_MS)
		s->wait_ms = 0;
	s->not_before_ms = now + s->wait_ms;
	s->wait_ms = s->wait_ms ? MIN(2 * s->wait_ms, WAIT_MAX_MS) : WAIT_MS;
}

static void run_lose(struct standing_run *run)
{
	struct standing *s = run->of;

	if (run->lost)
		return;
	run->lost = true;
	frame_channel_close(&run->channel);
	/* Before `ended` is called: its owner may ask for the next run in it. */
	if (s->run == run)
		s->run = NULL;
	run_delay_next(run);
	proc_kill(run->proc);
	/* one that never was ready has said why on its standard error */
	if (!run->ready)
		return;
	s->ops->ended(s->ctx, run, SHORT_TEXT(STANDING_WHY_SIZE, "%s has died", s->name));
}

static void standing_run_free(struct standing_run *run)
{
	list_del(&run->link);
	frame_channel_close(&run->channel);
	free(run);
}

static void on_exited(void *ctx, const struct proc_status *st)
{
	struct standing_run *run = ctx;
	struct standing *s = run->of;
	const char *how = st->exited ? "exit" : "signal";

	log_warn("proc", "a program of ours has ended", "program", s->name, how,
		 NUMBER_TEXT(st->code), "text", st->stderr_tail);
	run_lose(run);
	if (!run->ready)
		s->ops->ended(s->ctx, run,
			      SHORT_TEXT(STANDING_WHY_SIZE, "%s did not start: %s %d %.150s",
					 s->name, how, st->code, st->stderr_tail));
	run->proc = proc_free(run->proc);
	standing_run_free(run);
}

static const struct proc_events proc_ops = { .on_exit = on_exited };

/* --- what it says --------------------------------------------------------------------------------------------- */

int standing_take(void *ctx, const struct frame *f, int *fd _unused_)
{
	struct standing_run *run = ctx;
	struct standing *s = run->of;

	if (f->type != s->ops->ready)
		return run->ready ? s->ops->frame(s->ctx, run, f) : -EPROTO;
	if (run->ready)
		return -EPROTO;
	run->ready = true;
	return 0;
}

void standing_lost(void *ctx, const char *why)
{
	struct standing_run *run = ctx;

	if (why)
		log_warn("proc", "a program of ours is ended", "program", run->of->name, "text",
			 why);
	run_lose(run);
}

/* --- its beginning -------------------------------------------------------------------------------------------- */

static struct proc *standing_spawn(struct standing *s, struct standing_run *run, int socket,
				   struct err *e)
{
	char lang[] = "LANG=C.UTF-8", serve[] = "serve", name[32], user[16], group[16];
	char *argv[] = { s->program, serve, user, group, s->argument, NULL },
	     *env[] = { lang, NULL };
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (uid == 0 && standing_user(s, &uid, &gid, e) < 0)
		return NULL;
	snprintf(user, sizeof(user), "%u", uid);
	snprintf(group, sizeof(group), "%u", gid);
	snprintf(name, sizeof(name), "%s-%u", s->name, run->serial);
	return proc_spawn(s->procs,
			  &(struct proc_spec){ .argv = argv,
					       .env = env,
					       .cwd = "/",
					       .session = name,
					       .data = socket,
					       .trusted = true,
					       .standing = true },
			  &proc_ops, run, e);
}

static struct standing_run *run_start(struct standing *s, struct err *e)
{
	_cleanup_(closep) int ours = -1, theirs = -1;
	struct standing_run *run;
	int ends[2];

	/* Neither end blocks: no program may hold up the other. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0) {
		err_set(e, -errno, 0, "OUT_OF_DESCRIPTORS", "no socket: %s", strerror(errno));
		return NULL;
	}
	ours = ends[0];
	theirs = ends[1];
	run = new0(struct standing_run);
	list_init(&run->link);
	run->of = s;
	run->serial = ++s->serial;
	run->started_ms = clock_mono_ms();
	run->proc = standing_spawn(s, run, theirs, e);
	if (!run->proc) {
		free(run);
		return NULL;
	}
	list_add_tail(&s->runs, &run->link);
	frame_channel_open(&run->channel, s->loop, TAKE_FD(ours), false, &s->ops->channel, run);
	return run;
}

void standing_break_off(struct standing *s)
{
	if (!s->run)
		return;
	run_lose(s->run);
	s->not_before_ms = s->wait_ms = 0; /* it was we */
}

struct standing_run *standing_get(struct standing *s, char why[STANDING_WHY_SIZE])
{
	uint64_t now = clock_mono_ms();
	struct err e = { 0 };

	if (s->run && frame_channel_waiting(&s->run->channel) > WAITING_MAX) {
		snprintf(why, STANDING_WHY_SIZE, "%s does not take what it is given", s->name);
		return NULL;
	}
	if (s->run)
		return s->run;
	if (!s->program) {
		snprintf(why, STANDING_WHY_SIZE, "%s is not beside acpd, nor where %s says",
			 s->name, s->variable);
		return NULL;
	}
	if (now < s->not_before_ms) {
		snprintf(why, STANDING_WHY_SIZE, "%s has died; it is not started for %llu ms",
			 s->name, (unsigned long long)(s->not_before_ms - now));
		return NULL;
	}
	s->run = run_start(s, &e);
	if (s->run)
		s->ops->begun(s->ctx, s->run);
	else
		snprintf(why, STANDING_WHY_SIZE, "%s", e.msg);
	return s->run;
}

void standing_init(struct standing *s)
{
	list_init(&s->runs);
}

void standing_done(struct standing *s)
{
	list_drain(run, &s->runs, struct standing_run, link) {
		run->proc = proc_end(run->proc);
		standing_run_free(run);
	}
	s->run = NULL;
	free_each(TAKE_PTR(s->program), TAKE_PTR(s->user), TAKE_PTR(s->agent_user),
		  TAKE_PTR(s->argument));
}

/* --- its user -------------------------------------------------------------------------------------------- */

/* as whom a program that stands beside the daemon runs. */
static bool is_user(const char *name, uid_t uid)
{
	struct passwd *pw = name && *name ? getpwnam(name) : NULL;

	return pw && pw->pw_uid == uid;
}

/* One that is there and not the agent's; the last if none is. */
static const char *usual_user(const struct standing *s)
{
	const char *const usual[] = { s->name, "nobody", "daemon" };
	const char *name = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(usual); i++) {
		struct passwd *pw = getpwnam(usual[i]);

		name = usual[i];
		if (pw && pw->pw_uid != 0 && !is_user(s->agent_user, pw->pw_uid))
			break;
	}
	return name;
}

int standing_user(const struct standing *s, uid_t *uid, gid_t *gid, struct err *e)
{
	const char *name = s->user ? s->user : usual_user(s);
	struct passwd *pw = getpwnam(name);

	if (!pw)
		return err_field(e, s->option, "OPTION_INVALID", "--%s: no user named '%s'",
				 s->option, name);
	*uid = pw->pw_uid;
	*gid = pw->pw_gid;
	if (*uid == 0 || is_user(s->agent_user, *uid))
		return err_field(e, s->option, "OPTION_INVALID",
				 "--%s: '%s' is %s, and %s needs another one", s->option, name,
				 *uid == 0 ? "root" : "the agent's user", s->name);
	return 0;
}

static void standing_put_user(const struct standing *s, struct jw *w)
{
	struct passwd *pw;
	struct err e = { 0 };
	uid_t uid = geteuid();
	gid_t gid;

	if (uid == 0 && standing_user(s, &uid, &gid, &e) < 0) {
		jw_str(w, "missing", e.msg);
		return;
	}
	pw = getpwuid(uid);
	jw_str(w, "user", pw ? pw->pw_name : NULL);
}

void standing_put_status(const struct standing *s, struct jw *w)
{
	jw_str(w, "program", s->program);
	if (s->program) {
		standing_put_user(s, w);
		return;
	}
	jw_str(w, "missing", SHORT_TEXT(STANDING_WHY_SIZE, "%s is not installed", s->name));
}
