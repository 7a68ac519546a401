/*
 * service.c - main, confinement and frames of the programs that the daemon starts beside itself.
 *
 * The order of service_serve() is that of confine_self.h. Limits are raised while the process may be root, `prepare` loads what
 * cannot be loaded later, then follow the change of user, the tie to the parent, Landlock, and seccomp, which takes away
 * calls that the steps before it need. Not a byte of a network or of a client is read before that.
 */
#include "service/service.h"

#include "base/format/digits.h"
#include "base/util.h"
#include "base/version.h"
#include "confine/confine_probe.h"
#include "confine/confine_self.h"
#include "confine/landlock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define SOCKET 3

struct service_user {
	uint32_t uid, gid;
};

/* --- confinement ---------------------------------------------------------------------------------------------- */

static void raise_to_hard_limit(__rlimit_resource_t what)
{
	struct rlimit r;

	if (getrlimit(what, &r) < 0)
		return;
	r.rlim_cur = r.rlim_max;
	setrlimit(what, &r);
}

/* Before the process has anything to lose: no core files, not to be traced. */
static void service_harden(const struct service *s)
{
	struct rlimit locked = { RLIM_INFINITY, RLIM_INFINITY };

	prctl(PR_SET_DUMPABLE, 0);
	confine_self_limit(RLIMIT_CORE, 0);
	if (s->locks_memory && setrlimit(RLIMIT_MEMLOCK, &locked) < 0) /* only root may */
		raise_to_hard_limit(RLIMIT_MEMLOCK);
	raise_to_hard_limit(RLIMIT_NOFILE);
	signal(SIGPIPE, SIG_IGN);
}

/* NULL, or what cannot be done; errno is why. */
static const char *service_confine(const struct service *s, const struct service_user *who)
{
	const struct landlock_grant grant = { .rights = LL_FS_READ_FILE, .paths = s->readable };
	const struct landlock_spec reach = { .fs = LL_FS_ALL,
					     .net = LL_NET_BIND_TCP,
					     .scoped = LL_SCOPED_ALL,
					     .grants = &grant,
					     .n_grants = 1 };
	pid_t parent = getppid();
	int r = geteuid() == 0 ? confine_self_become(who->uid, who->gid) : 0;
	const char *step = "becoming its user";

	if (r == 0)
		r = confine_self_bind(parent);
	if (r == 0) {
		step = "Landlock";
		r = landlock_enter(&reach);
	}
	if (r >= 0) {
		step = "seccomp";
		r = confine_list_enter(s->calls);
	}
	errno = -r;
	return r < 0 ? step : NULL;
}

/* --- frames --------------------------------------------------------------------------------------------------- */

static int on_service_frame(void *ctx, const struct frame *f, int *fd)
{
	struct service_run *run = ctx;
	const struct service *s = run->service;
	int r;

	if (!s->takes[f->type] || run->configured == (f->type == s->config))
		return -EPROTO;
	r = s->takes[f->type](run->ctx, f, fd);
	if (r < 0 || run->configured)
		return r;
	run->configured = true;
	frame_channel_send(&run->channel, s->ready, 0, SLICE_NONE, -1);
	return 0;
}

static void on_daemon_gone(void *ctx, const char *why _unused_)
{
	struct service_run *run = ctx;

	loop_quit(run->loop);
}

/* --- the program ---------------------------------------------------------------------------------------------- */

static int service_fail(const struct service *s, const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", s->name, what, strerror(errno));
	return 1;
}

static int service_serve(const struct service *s, const struct service_user *who,
			 const char *argument)
{
	struct frame_channel_ops ops = { s->types, on_service_frame, on_daemon_gone };
	struct service_run run = { .service = s };
	const char *bad;

	service_harden(s);
	if (fcntl(SOCKET, F_GETFD) < 0)
		return service_fail(s, "its socket");
	bad = s->prepare(argument);
	if (!bad)
		bad = service_confine(s, who);
	if (bad)
		return service_fail(s, bad);
	run.loop = loop_new();
	if (!run.loop)
		return service_fail(s, "its loop");
	run.ctx = s->open(&run);
	frame_channel_open(&run.channel, run.loop, SOCKET, true, &ops, &run);
	loop_run(run.loop);
	s->close(run.ctx);
	frame_channel_close(&run.channel);
	loop_free(run.loop);
	return 0;
}

static int service_probe(const struct service *s, const struct service_user *who)
{
	const char *bad;

	service_harden(s);
	bad = service_confine(s, who);
	return bad ? service_fail(s, bad) : confine_probe();
}

static bool service_take_id(const char *text, uint32_t *ret)
{
	uint64_t n;

	if (!u64_parse(slice_of(text), &n) || n > UINT32_MAX)
		return false;
	*ret = (uint32_t)n;
	return true;
}

/* Ends without atexit: threads that still look up a name are not waited for, and leaks cannot be looked for, because tracing is
 * not allowed. */
void service_main(const struct service *s, int argc, char **argv)
{
	struct service_user who;

	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		exit(printf("%s %s (%s)\n", s->name, acpd_version, s->library()) < 0);
	if (argc >= 4 && argc <= 2 + s->arguments_max && service_take_id(argv[2], &who.uid) &&
	    service_take_id(argv[3], &who.gid)) {
		if (strcmp(argv[1], "probe") == 0)
			_exit(service_probe(s, &who));
		if (strcmp(argv[1], "serve") == 0)
			_exit(service_serve(s, &who, argv[4]));
	}
	fprintf(stderr, "usage: %s serve|probe %s\n", s->name, s->arguments);
	exit(2);
}
