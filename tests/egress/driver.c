/*
 * driver.c PROGRAM ALLOW RESOLVERS - the daemon's end of acpd-proxy with a pipe instead of sessions: commands come as lines of
 * JSON on standard input, and what doors report goes out as lines of JSON. An empty argument is none.
 *
 *	{"do":"open","rules":{...},"uid":N}        -> {"did":"open","door":1,"port":40000}, or {"did":"refused","why":"..."}
 *	{"do":"rules","door":1,"rules":{...}}
 *	{"do":"answer","door":1,"host":"a.example","allow":true}
 *	{"do":"close","door":1}
 *	{"do":"kill"}                              kills the program
 *	                                           {"did":"blocked","door":1,"host":"...","port":443,"reason":"..."}
 *	                                           {"did":"ask",...} {"did":"used","up":1,"down":2,...}
 */
#include "base/log.h"
#include "base/util.h"
#include "egress/egress.h"
#include "egress/wire/egress_rules.h"
#include "json/jdec.h"
#include "json/jenc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define DOORS_MAX 16

static struct loop *loop;
static struct proc_host *procs;
static struct egress *egress;
static struct loop_io input = { .fd = 0 };
static struct buf in;
static struct door {
	struct egress_door *door;
	int number;
} doors[DOORS_MAX];

static void say(struct buf *b)
{
	buf_putc(b, '\n');
	if (write(1, b->data, b->len) < 0)
		loop_quit(loop);
}

/* --- what doors report ---------------------------------------------------------------------------------------- */

static void notice(struct door *d, const char *what, const char *host, int port, const char *reason,
		   uint64_t up, uint64_t down)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_str(&w, "did", what);
	jw_int(&w, "door", d->number);
	jw_str(&w, "host", host);
	jw_int(&w, "port", port);
	jw_str(&w, "reason", reason);
	jw_uint(&w, "up", up);
	jw_uint(&w, "down", down);
	jw_end_obj(&w);
	say(&b);
}

static void on_blocked(void *ctx, const char *host, int port, enum egress_reason why)
{
	notice(ctx, "blocked", host, port, egress_reasons[why].name, 0, 0);
}

static void on_ask(void *ctx, const char *host, int port)
{
	notice(ctx, "ask", host, port, NULL, 0, 0);
}

static void on_used(void *ctx, const char *host, uint64_t up, uint64_t down)
{
	notice(ctx, "used", host, 0, NULL, up, down);
}

static const struct egress_ops ops = { on_blocked, on_ask, on_used };

/* --- commands ------------------------------------------------------------------------------------------------- */

struct command {
	char *what, *host;
	struct slice rules;
	int64_t door, uid;
	bool allow;
};

static const struct jfield fields[] = {
	JF_STR(struct command, what, "do", JF_REQUIRED, 32),
	JF_STR(struct command, host, "host", 0, 255),
	JF_OBJ(struct command, rules, "rules", 0),
	JF_INT(struct command, door, "door", 0, 1, DOORS_MAX),
	JF_INT(struct command, uid, "uid", 0, 0, UINT32_MAX),
	JF_BOOL(struct command, allow, "allow", 0),
	JF_END,
};

static int listen_somewhere(int *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t n = sizeof(at);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, n) < 0 || listen(fd, SOMAXCONN) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &n) < 0)
		abort();
	*port = ntohs(at.sin_port);
	return fd;
}

static void say_opened(const struct door *d, int port, const struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_str(&w, "did", d->door ? "open" : "refused");
	jw_int(&w, "door", d->number);
	jw_int(&w, "port", port);
	jw_str(&w, "why", e->msg);
	jw_str(&w, "reason", e->reason);
	jw_end_obj(&w);
	say(&b);
}

static void do_open(const struct command *c, const struct egress_rules *rules)
{
	struct egress_door_config config = { .one_user = c->uid >= 0,
					     .uid = (uid_t)c->uid,
					     .rules = rules };
	struct door *d = doors;
	struct err e = { 0 };
	int port;

	while (d->number)
		d++;
	d->number = (int)(d - doors) + 1;
	config.fd = listen_somewhere(&port);
	d->door = egress_open(egress, &config, &ops, d, &e);
	say_opened(d, port, &e);
}

static pid_t find_program(void)
{
	char path[64];
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	f = fopen(path, "re");
	if (f && fscanf(f, "%d", &pid) != 1)
		pid = 0;
	if (f)
		fclose(f);
	return pid;
}

static void carry_out(const struct command *c)
{
	struct door *d = &doors[c->door ? c->door - 1 : 0];
	struct egress_rules *rules = NULL;
	struct err e = { 0 };

	if (c->rules.n && egress_rules_parse(c->rules, "rules", &rules, &e) < 0) {
		fprintf(stderr, "%s\n", e.msg);
		abort();
	}
	if (strcmp(c->what, "open") == 0)
		do_open(c, rules);
	else if (strcmp(c->what, "rules") == 0)
		egress_set_rules(d->door, rules);
	else if (strcmp(c->what, "answer") == 0)
		egress_answer(d->door, c->host, c->allow);
	else if (strcmp(c->what, "close") == 0)
		d->door = egress_close(d->door);
	else if (strcmp(c->what, "kill") == 0)
		kill(find_program(), SIGKILL);
	egress_rules_free(rules);
}

static void on_input(void *ctx _unused_, uint32_t events _unused_)
{
	const char *end;
	ssize_t n;

	if (buf_reserve(&in, 64 * KIB) < 0)
		abort();
	n = read(0, in.data + in.len, 64 * KIB);
	if (n <= 0) {
		loop_quit(loop);
		return;
	}
	in.len += (size_t)n;
	while (buf_len(&in) && (end = memchr(in.data + in.pos, '\n', buf_len(&in)))) {
		struct slice line = { in.data + in.pos, (size_t)(end - in.data) - in.pos };
		struct command c = { .uid = -1 };

		if (jdec_strict(line, fields, NULL, "no such member", &c, NULL) < 0)
			abort();
		carry_out(&c);
		jdec_free(fields, &c);
		buf_consume(&in, line.n + 1);
	}
}

static void on_signal(void *ctx _unused_, int signo _unused_)
{
	proc_host_reap(procs);
}

int main(int argc, char **argv)
{
	sigset_t set;

	if (argc != 4)
		return 2;
	log_set_level(LOG_ERROR);
	loop = loop_new();
	procs = proc_host_new(loop, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	loop_signals(loop, &set, on_signal, NULL);
	egress = egress_new(&(struct egress_config){ .loop = loop,
						     .procs = procs,
						     .program = *argv[1] ? argv[1] : NULL,
						     .allow = *argv[2] ? argv[2] : NULL,
						     .resolvers = *argv[3] ? argv[3] : NULL });
	input.fn = on_input;
	loop_io_set(loop, &input, EPOLLIN);
	loop_run(loop);
	for (size_t i = 0; i < ARRAY_SIZE(doors); i++)
		egress_close(doors[i].door);
	egress_free(egress);
	proc_host_free(procs);
	loop_free(loop);
	buf_done(&in);
	return 0;
}
