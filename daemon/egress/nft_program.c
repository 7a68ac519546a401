/*
 * nft_program.c - runs nft(8) with one transaction on its stdin, and asks the kernel for a table by
 * netlink.
 *
 * nft reads to the end of its stdin and then carries out all of it or nothing. nft_run reports
 * after it has freed the run, so the callback may start the next one. nft_run_now blocks until
 * stderr ends and kills nft after NFT_WAIT_MS. nft_table_there sends one NFT_MSG_GETTABLE request,
 * which needs no process.
 */
#include "egress/nft_program.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/os/file.h"
#include "proc/spawn.h"
#include "proc/output/lines.h"

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define WHY_WORDS 160 /* bytes of what it says that an error has */

const char *nft_program(void)
{
	static const char *const places[] = { "/usr/sbin/nft", "/sbin/nft", "/usr/local/sbin/nft",
					      "/usr/bin/nft" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (access(places[i], X_OK) == 0)
			return places[i];
	return NULL;
}

static void describe_end(bool exited, int code, const char *said, struct err *e)
{
	err_set(e, -EIO, RPC_INTERNAL_ERROR, "NFT_FAILED", "nft: %s %d %.*s",
		exited ? "exit" : "signal", code, WHY_WORDS, said);
	err_flatten(e->msg);
}

static void fill_spec(struct proc_spec *spec, char *const *argv, char *const *env, const char *name)
{
	*spec = (struct proc_spec){ .argv = argv,
				    .env = env,
				    .cwd = "/",
				    .session = name,
				    .trusted = true,
				    .standing = true };
}

static char lang[] = "LANG=C.UTF-8";
static char *const environment[] = { lang, NULL };

/* --- from the loop ----------------------------------------------------------------------------------------- */

struct nft_run {
	struct proc *proc;
	nft_ended_fn ended;
	void *ctx;
};

static void on_nft_exit(void *ctx, const struct proc_status *st)
{
	struct nft_run *r = ctx;
	bool ok = st->exited && st->code == 0;
	nft_ended_fn ended = r->ended;
	void *owner = r->ctx;
	struct err e = { 0 };

	if (!ok)
		describe_end(st->exited, st->code, st->stderr_tail, &e);
	proc_free(r->proc);
	free(r);
	ended(owner, ok ? NULL : e.msg);
}

static const struct proc_events events = { .on_exit = on_nft_exit };

struct nft_run *nft_run(struct proc_host *procs, const char *program, struct slice text,
			nft_ended_fn ended, void *ctx, struct err *e)
{
	static unsigned long count;
	_cleanup_(freep) char *self = xstrdup(program);
	char file[] = "-f", input[] = "-", name[32];
	char *argv[] = { self, file, input, NULL };
	struct proc_spec spec;
	struct nft_run *r = new0(struct nft_run);

	snprintf(name, sizeof(name), "nft-%lu", ++count);
	fill_spec(&spec, argv, environment, name);
	*r = (struct nft_run){ .ended = ended, .ctx = ctx };
	r->proc = proc_spawn(procs, &spec, &events, r, e);
	if (!r->proc) {
		free(r);
		return NULL;
	}
	if (proc_send(r->proc, text) < 0) { /* it would succeed at doing nothing */
		err_set(e, -EIO, RPC_INTERNAL_ERROR, "NFT_FAILED", "nft does not take its input");
		return nft_run_end(r);
	}
	/* Ends stdin, so that nft starts its transaction, and limits how long nft runs. */
	proc_stop(r->proc);
	return r;
}

struct nft_run *nft_run_end(struct nft_run *r)
{
	if (!r)
		return NULL;
	proc_end(r->proc);
	free(r);
	return NULL;
}

/* --- at once ----------------------------------------------------------------------------------------------- */

/* What it says, until it ends or its time is over. */
static void nft_read_stderr(const struct spawned *s, struct text_tail *tail)
{
	uint64_t end = clock_mono_ms() + NFT_WAIT_MS, now;
	struct pollfd p = { .fd = s->errout, .events = POLLIN };
	char chunk[1024];
	ssize_t n = 1;

	while (n != 0 && (now = clock_mono_ms()) < end) {
		if (poll(&p, 1, (int)(end - now)) <= 0)
			continue;
		n = read(s->errout, chunk, sizeof(chunk));
		if (n > 0)
			text_tail_add(tail, chunk, (size_t)n);
	}
	if (n != 0)
		kill(s->pid, SIGKILL);
}

int nft_run_now(const char *program, bool check, struct slice text, struct err *e)
{
	_cleanup_(freep) char *self = xstrdup(program);
	char only[] = "-c", file[] = "-f", input[] = "-";
	char *argv[] = { self, file, input, check ? only : NULL, NULL };
	struct text_tail tail = { 0 };
	struct proc_spec spec;
	struct spawned s;
	int status = 0, r;

	fill_spec(&spec, argv, environment, "nft");
	r = spawn_child(&spec, NULL, &s, e);
	if (r < 0)
		return r;
	/* it fits into the pipe */
	if (file_write_all(s.in, text.p, text.n) == 0)
		closep(&s.in);
	nft_read_stderr(&s, &tail);
	RETRY(waitpid(s.pid, &status, 0));
	closep(&s.in);
	closep(&s.out);
	closep(&s.errout);
	closep(&s.pidfd);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	describe_end(WIFEXITED(status), WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status),
		     text_tail_show(&tail), e);
	return -EIO;
}

/* --- without it -------------------------------------------------------------------------------------------- */

struct table_question {
	struct nlmsghdr h;
	struct nfgenmsg g;
	struct nlattr a;
	char name[32];
};

static int nft_read_answer(int fd)
{
	union {
		struct nlmsghdr h;
		char room[4096];
	} answer;
	struct nlmsgerr error;
	ssize_t n;

	n = RETRY(recv(fd, &answer, sizeof(answer), 0));
	if (n < 0)
		return -errno;
	if (n < (ssize_t)sizeof(answer.h))
		return -EBADMSG;
	/* Anything but an error is the description of the table. */
	if (answer.h.nlmsg_type != NLMSG_ERROR)
		return 1;
	if (n < (ssize_t)(sizeof(answer.h) + sizeof(error)))
		return -EBADMSG;
	memcpy(&error, answer.room + sizeof(answer.h), sizeof(error));
	return error.error == -ENOENT ? 0 : error.error < 0 ? error.error : -EBADMSG;
}

int nft_table_there(const char *table)
{
	_cleanup_(closep) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
	struct timeval patience = { .tv_sec = 1 };
	size_t n = strlen(table) + 1;
	struct table_question q = {
		.h = { .nlmsg_type = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETTABLE,
		       .nlmsg_flags = NLM_F_REQUEST },
		.g = { .nfgen_family = NFPROTO_INET, .version = NFNETLINK_V0 },
		.a = { .nla_type = NFTA_TABLE_NAME },
	};

	if (fd < 0)
		return -errno;
	if (n > sizeof(q.name))
		return -ENAMETOOLONG;
	memcpy(q.name, table, n);
	q.a.nla_len = (uint16_t)(sizeof(q.a) + n);
	q.h.nlmsg_len = (uint32_t)(offsetof(struct table_question, name) + NLMSG_ALIGN(n));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (send(fd, &q, q.h.nlmsg_len, 0) < 0)
		return -errno;
	return nft_read_answer(fd);
}
