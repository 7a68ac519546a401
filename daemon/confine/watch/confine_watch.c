/*
 * confine_watch.c - receives one seccomp notification, finds out what the call is, records it and
 * answers it.
 *
 * One thread runs for each listener. A refused call gets the errno of its row.
 * A watched call continues whatever was read about it: the process can change its memory meanwhile,
 * so nothing read here may decide (seccomp_unotify(2)). A call that is in neither table fails with
 * EPERM.
 */
#include "confine/watch/confine_watch.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/os/threads.h"
#include "base/util.h"
#include "confine/watch/caller.h"
#include "confine/watched.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

/* The kernel's structs may be longer than ours; it says how long. */
#define NOTICE_MAX 512

struct notice {
	union {
		struct seccomp_notif call;
		char room[NOTICE_MAX];
	};
	union {
		struct seccomp_notif_resp answer;
		char answer_room[NOTICE_MAX];
	};
};

/* --- writes --------------------------------------------------------------------------------------------------- */

static bool open_writes(uint64_t flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC);
}

static struct caller_write target_of_open(uint64_t flags)
{
	return (struct caller_write){
		.old = !(flags & O_CREAT),
		.fresh = flags & O_CREAT && flags & O_EXCL,
		.no_follow = flags & O_NOFOLLOW || (flags & O_CREAT && flags & O_EXCL),
		.asks_first = true,
	};
}

static bool write_target(const struct watched *w, const struct seccomp_notif *n,
			 struct caller_write *ret)
{
	struct open_how how = { .flags = n->data.args[w->flags] };

	*ret = (struct caller_write){
		.old = w->target == TARGET_OLD,
		.fresh = w->target == TARGET_NEW,
		.no_follow = w->no_follow,
	};
	if (w->target == TARGET_HOW &&
	    caller_bytes((pid_t)n->pid, n->data.args[w->flags], &how, sizeof(how)) < 0)
		return false;
	if (w->target == TARGET_HOW || w->target == TARGET_FLAGS) {
		*ret = target_of_open(how.flags);
		return open_writes(how.flags);
	}
	return true;
}

static bool see_write(const struct watched *w, const struct seccomp_notif *n, struct refusal *ret)
{
	int dir = w->dir < 0 ? AT_FDCWD : (int)n->data.args[w->dir];
	char path[CALLER_PATH_MAX];
	struct caller_write target;

	if (!write_target(w, n, &target) ||
	    caller_path((pid_t)n->pid, dir, n->data.args[w->path], path) < 0)
		return false;
	ret->kind = REFUSED_WRITE;
	ret->error = -caller_write_error((pid_t)n->pid, path, &target);
	refusal_set_detail(ret, path);
	return ret->error != 0;
}

/* --- connections ---------------------------------------------------------------------------------------------- */

union peer_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static bool peer_is_loopback(const union peer_address *a)
{
	const struct in6_addr *v6 = &a->v6.sin6_addr;

	if (a->any.sa_family == AF_INET)
		return ntohl(a->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET ||
		       !a->v4.sin_addr.s_addr;
	return IN6_IS_ADDR_LOOPBACK(v6) || IN6_IS_ADDR_UNSPECIFIED(v6) ||
	       (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == IN_LOOPBACKNET);
}

static void name_address(const union peer_address *a, struct refusal *ret)
{
	bool v4 = a->any.sa_family == AF_INET;
	char host[INET6_ADDRSTRLEN];
	const void *bytes = v4 ? (const void *)&a->v4.sin_addr : &a->v6.sin6_addr;

	inet_ntop(a->any.sa_family, bytes, host, sizeof(host));
	refusal_set_detail(ret, SHORT_TEXT(INET6_ADDRSTRLEN + 16, v4 ? "%s:%u" : "[%s]:%u", host,
					   ntohs(v4 ? a->v4.sin_port : a->v6.sin6_port)));
}

static bool see_connect(const struct watched *w, const struct seccomp_notif *n, struct refusal *ret)
{
	uint64_t size = (uint32_t)n->data.args[w->path + 1];
	union peer_address a = { .any = { .sa_family = AF_UNSPEC } };

	if (caller_bytes((pid_t)n->pid, n->data.args[w->path], &a, MIN(size, sizeof(a))) < 0)
		return false;
	if ((a.any.sa_family != AF_INET || size < sizeof(a.v4)) &&
	    (a.any.sa_family != AF_INET6 || size < sizeof(a.v6)))
		return false;
	if (peer_is_loopback(&a))
		return false;
	ret->kind = REFUSED_HOST;
	ret->error = ENETUNREACH;
	name_address(&a, ret);
	return true;
}

/* --- one call ------------------------------------------------------------------------------------------------- */

struct watch_verdict {
	bool goes_on; /* no row refuses it, and it is one that we only look at */
	bool refused; /* or will be */
};

static bool see_watched(const struct watched *w, const struct seccomp_notif *n,
			const struct watch_scope *scope, struct refusal *ret)
{
	ret->call = w->call;
	if (w->target == TARGET_ADDRESS)
		return scope->walled && see_connect(w, n, ret);
	return see_write(w, n, ret);
}

static struct watch_verdict judge_call(const struct seccomp_notif *n,
				       const struct watch_scope *scope, struct refusal *ret)
{
	const uint64_t *args = (const uint64_t *)n->data.args;
	const struct watched *w;

	*ret = (struct refusal){ .kind = REFUSED_CALL, .error = EPERM };
	ret->row = confinement_denial(scope->confinement, n->data.nr, args);
	if (!ret->row) {
		w = watched_find(n->data.nr, args);
		return (struct watch_verdict){ .goes_on = w,
					       .refused = w && see_watched(w, n, scope, ret) };
	}
	ret->call = ret->row->call;
	ret->error = ret->row->error;
	refusal_describe(ret, (pid_t)n->pid, args);
	return (struct watch_verdict){ .refused = true };
}

static void notice_answer(int listener, struct notice *n, struct watch_verdict v, int error)
{
	memset(&n->answer_room, 0, sizeof(n->answer_room));
	n->answer.id = n->call.id;
	n->answer.error = v.goes_on ? 0 : -error;
	n->answer.flags = v.goes_on ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &n->answer); /* ENOENT: its process is gone */
}

static bool notice_sizes_fit(void)
{
	struct seccomp_notif_sizes sizes;

	return syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) == 0 &&
	       sizes.seccomp_notif <= NOTICE_MAX && sizes.seccomp_notif_resp <= NOTICE_MAX;
}

/* Waits for the next call, records it if it is refused, and then answers it. 0, also if its process is gone; -errno: no call
 * will come any more. */
static int watch_next(int listener, const struct watch_scope *scope)
{
	struct notice n;
	struct refusal one;
	struct watch_verdict v;

	if (!notice_sizes_fit())
		return -EINVAL;
	/* The kernel refuses a structure that is not zero (seccomp_unotify(2), EINVAL). */
	memset(&n, 0, sizeof(n));
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &n.call) < 0)
		return errno == ENOENT || errno == EINTR ? 0 : -errno;
	v = judge_call(&n.call, scope, &one);
	/* what was read is of another process if this one has gone meanwhile */
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &n.call.id) < 0)
		return 0;
	/* Before the answer: the process may report the failure as soon as it continues. */
	if (v.refused)
		refusals_add(scope->to, &one);
	notice_answer(listener, &n, v, one.error);
	return 0;
}

/* --- the thread ----------------------------------------------------------------------------------------------- */

struct confine_watcher {
	int listener;
	struct watch_scope scope;
};

static void watcher_free(struct confine_watcher *w)
{
	closep(&w->listener);
	refusals_unref(w->scope.to);
	free(w);
}

static bool wait_for_call(int listener)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };
	int r;

	r = RETRY(poll(&p, 1, -1));
	return r > 0 && p.revents & POLLIN;
}

static void *watcher_run(void *arg)
{
	struct confine_watcher *w = arg;

	while (wait_for_call(w->listener) && watch_next(w->listener, &w->scope) == 0)
		;
	watcher_free(w);
	return NULL;
}

void confine_watch_start(int listener, const struct watch_scope *scope)
{
	struct confine_watcher *w = new0(struct confine_watcher);
	pthread_t thread;
	int r = listener;

	*w = (struct confine_watcher){ listener, *scope };
	refusals_ref(scope->to);
	if (r >= 0)
		r = thread_start_sized(&thread, JOB_STACK, watcher_run, w);
	if (r >= 0) {
		pthread_detach(thread);
		return;
	}
	watcher_free(w);
	log_error("proc", "refused system calls cannot be recorded", "error", strerror(-r));
}
