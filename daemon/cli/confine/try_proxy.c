/*
 * try_proxy.c - the proxy of one command, as a session behind a wall has it: acpd-proxy for acpd confine try.
 *
 * acpd-proxy needs a loop and a process that takes its messages; the command line only waits for its command. So a
 * forked process runs the loop and the proxy, and writes refused hosts to a pipe that does not block; the parent reads
 * them at the end. EOF on the stop pipe ends the child, also when the parent dies. The listener is created before
 * fork, so connections wait in its backlog until the proxy accepts them.
 */
#include "cli/confine/confine_try.h"
#include "cli/cmd.h"

#include "base/os/local_sock.h"
#include "egress/egress.h"
#include "loop/loop.h"
#include "proc/proc.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define SETTLE_MS 50 /* what was refused last has been told by then */
#define LINE_MAX 300 /* "PORT HOST" */

const char *try_proxy_missing(void)
{
	_cleanup_(freep) char *program = egress_program();

	return program ? NULL : "acpd-proxy is not installed";
}

/* --- in its process -------------------------------------------------------------------------------------------- */

struct proxy_supervisor {
	struct loop *loop;
	struct proc_host *procs;
	struct loop_io stop;
	struct loop_timer settle;
	int told;
};

/* More than the pipe takes is not told: a command that asks for so many hosts has been told of enough. */
static void on_proxy_blocked(void *ctx, const char *host, int port, enum egress_reason why _unused_)
{
	const struct proxy_supervisor *k = ctx;

	dprintf(k->told, "%d %s\n", port, host);
}

/* There is nobody to ask. */
static void on_proxy_asks(void *ctx _unused_, const char *host _unused_, int port _unused_)
{
}

static void on_proxy_used(void *ctx _unused_, const char *host _unused_, uint64_t up _unused_,
			  uint64_t down _unused_)
{
}

static const struct egress_ops ops = { on_proxy_blocked, on_proxy_asks, on_proxy_used };

static void on_stop(void *ctx, uint32_t events _unused_)
{
	struct proxy_supervisor *k = ctx;

	loop_io_set(k->loop, &k->stop, 0);
	loop_timer_set(k->loop, &k->settle, SETTLE_MS, quit_loop, k->loop);
}

_noreturn_ static void supervise_proxy(const struct try_proxy_config *c, int listener, int stop,
				       int told)
{
	struct proxy_supervisor k = { .loop = loop_new(), .told = told };
	struct egress_config ec = { .loop = k.loop,
				    .agent_user = c->agent_user,
				    .allow = c->allow };
	struct egress_door_config dc = { .fd = listener, .rules = c->rules };
	struct egress_door *door;
	struct egress *x;
	struct err e;

	setsid(); /* signals for the command are not for us */
	k.procs = ec.procs = proc_host_new(k.loop, NULL);
	cli_signals(k.loop, (const int[]){ SIGCHLD, 0 }, reap_on_signal, k.procs);
	x = egress_new(&ec);
	door = egress_open(x, &dc, &ops, &k, &e);
	if (!door) {
		fprintf(stderr, "acpd: %s\n", e.msg);
		_exit(1);
	}
	k.stop = (struct loop_io){ .fd = stop, .fn = on_stop, .ctx = &k };
	loop_io_set(k.loop, &k.stop, EPOLLIN);
	loop_run(k.loop);
	egress_close(door);
	egress_free(x);
	proc_host_free(k.procs);
	_exit(0);
}

/* --- in ours ---------------------------------------------------------------------------------------------------- */

/* Connections wait until the other process takes them. */
static int listen_there(const struct try_proxy_config *c, struct sockaddr_in *at, struct err *e)
{
	int fd = netns_socket(c->netns, AF_INET, SOCK_STREAM);

	if (fd >= 0)
		fd = loopback_bind(fd, SOMAXCONN, at);
	return fd >= 0 ?
		       fd :
		       err_set(e, fd, 0, "NO_PROXY", "no socket for the proxy: %s", strerror(-fd));
}

static int pipes(int stop[2], int told[2], struct err *e)
{
	if (pipe2(stop, O_CLOEXEC) == 0 && pipe2(told, O_CLOEXEC) == 0 &&
	    fcntl(told[1], F_SETFL, O_NONBLOCK) == 0)
		return 0;
	return err_set(e, -errno, 0, "NO_PROXY", "no pipe for the proxy: %s", strerror(errno));
}

int try_proxy_start(struct try_proxy *p, const struct try_proxy_config *c, struct err *e)
{
	_cleanup_(closep) int listener = listen_there(c, &p->at, e);
	int stop[2] = { -1, -1 }, told[2] = { -1, -1 };

	if (listener < 0 || pipes(stop, told, e) < 0)
		return -EIO;
	p->pid = fork();
	if (p->pid < 0)
		return err_set(e, -errno, 0, "NO_PROXY", "fork: %s", strerror(errno));
	if (p->pid == 0) {
		/* The child must not have a writing end: it would never see EOF. */
		close(stop[1]);
		close(told[0]);
		supervise_proxy(c, listener, stop[0], told[1]);
	}
	close(stop[0]);
	close(told[1]);
	p->stop = stop[1];
	p->told = told[0];
	return 0;
}

static void refusals_add_host(struct refusals *r, const char *line)
{
	struct refusal one = { .kind = REFUSED_HOST, .call = "proxy", .error = EACCES };
	const char *host = strchr(line, ' ');

	if (!host || !r)
		return;
	refusal_set_detail(&one, SHORT_TEXT(LINE_MAX, strchr(host + 1, ':') ? "[%s]:%d" : "%s:%d",
					    host + 1, atoi(line)));
	refusals_add(r, &one);
}

void try_proxy_stop(struct try_proxy *p, struct refusals *r)
{
	char line[LINE_MAX];
	FILE *told;

	if (p->pid <= 0)
		return;
	close(p->stop); /* its end says so */
	/* The other process closes its end when it exits, so this read ends. */
	told = fdopen(p->told, "r");
	while (told && fgets(line, sizeof(line), told)) {
		line[strcspn(line, "\n")] = '\0';
		refusals_add_host(r, line);
	}
	if (told)
		fclose(told);
	RETRY(waitpid(p->pid, NULL, 0));
	p->pid = 0;
}
