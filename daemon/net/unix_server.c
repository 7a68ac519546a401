/*
 * unix_server.c - control.sock and acp.sock: admission of peers, eviction of silent ones, HTTP on
 * acp.sock.
 *
 * The uid of a peer is checked at accept, its ancestry when it first sends something, since that
 * reads /proc. A client is silent until its first whole line, and only silent clients are closed
 * for new ones. The first byte on acp.sock, which is only peeked, decides between JSON and HTTP.
 * Clients are freed from a deferred task, never inside their own callback.
 */
#include "net/unix_server.h"

#include "base/bucket.h"
#include "base/clock.h"
#include "base/os/buf_io.h"
#include "base/os/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/os/local_sock.h"
#include "loop/acceptor.h"
#include "proc/table/ancestry.h"
#include "proc/output/lines.h"

#include <sys/epoll.h>
#include <sys/socket.h>

/* A client that is still silent may be closed for the next one, the oldest first. */
struct unix_listener {
	struct unix_server *server;
	struct acceptor acceptor;
	char *path;
	const char *name;
	bool acp;
	struct list silent;
	unsigned nsilent;
};

struct unix_server {
	struct loop *loop;
	struct acp_server *acp;
	struct claim_desk *claims;
	struct http_context *info;
	struct unix_listener listeners[2];
	struct list clients; /* those that have sent a line, and those that are being closed */
	unsigned nclients;
	bool held;
	void (*adopt)(void *ctx, int fd);
	void *adopt_ctx;
	struct bucket refusals; /* lines of the log */
	uint64_t last_id;
};

struct unix_client {
	struct list link;
	struct unix_server *server;
	struct unix_listener *silent; /* in its list: no whole line has come */
	char id[24];		      /* a name in the log */
	struct loop_io io;
	struct lines in;
	struct buf out;
	struct acp_conn *conn;	/* acp.sock only */
	bool awaits_first_byte; /* of acp.sock, and nothing came yet: JSON or HTTP? */
	struct loop_task flush_task, free_task;
	struct loop_timer close_timer; /* also for the first line */
	const char *why;
	bool has_sent_line, closing, dead;
};

static void unix_leave_list(struct unix_client *c)
{
	if (c->silent)
		c->silent->nsilent--;
	else
		c->server->nclients--;
	list_del(&c->link);
}

static void leave_silent(struct unix_client *c)
{
	unix_leave_list(c);
	c->silent = NULL;
	list_add_tail(&c->server->clients, &c->link);
	c->server->nclients++;
}

/* It has sent a line: from now on it is not closed for others. */
static void set_heard(struct unix_client *c)
{
	if (c->has_sent_line)
		return;
	c->has_sent_line = true;
	log_info("net", "connection accepted", "connection", c->id, "over", c->silent->name);
	tokens_note(c->server->info->tokens, DOOR_LOCAL, &grant_admin, true);
	leave_silent(c);
	/* of one that is being closed, the timer is its end */
	if (!c->closing)
		loop_timer_cancel(&c->close_timer);
}

static void unix_client_free(void *ctx)
{
	struct unix_client *c = ctx;

	if (c->has_sent_line)
		log_info("net", "connection closed", "connection", c->id, "reason",
			 c->why ? c->why : "by the client");
	loop_task_cancel(&c->flush_task);
	loop_task_cancel(&c->free_task);
	loop_timer_cancel(&c->close_timer);
	acp_conn_free(c->conn);
	if (c->io.fd >= 0) {
		loop_io_close(c->server->loop, &c->io);
	}
	lines_done(&c->in);
	buf_done(&c->out);
	unix_leave_list(c);
	free(c);
}

static void client_drop(struct unix_client *c)
{
	if (c->dead)
		return;
	c->dead = true;
	if (c->io.fd >= 0)
		loop_io_set(c->server->loop, &c->io, 0);
	loop_defer(c->server->loop, &c->free_task, unix_client_free, c);
}

/* What it waits for: to be read, and to write what is left. */
static void client_watch(struct unix_client *c)
{
	loop_io_set(c->server->loop, &c->io,
		    c->server->held ? 0 : EPOLLIN | (buf_len(&c->out) ? (uint32_t)EPOLLOUT : 0));
}

static bool unix_add_line(void *ctx, struct slice text)
{
	struct unix_client *c = ctx;

	/* a line that is longer than a batch goes alone */
	if (buf_len(&c->out) && buf_len(&c->out) + text.n > CONN_BATCH_BYTES)
		return false;
	return buf_add_slice(&c->out, text) == 0 && buf_putc(&c->out, '\n') == 0;
}

/* Writes what the socket takes; asks for EPOLLOUT while something is left. */
static void client_flush(void *ctx)
{
	struct unix_client *c = ctx;
	bool more = !c->server->held;

	while (!c->dead && more) {
		int r;

		more = c->conn && acp_conn_pump(c->conn, unix_add_line, c);
		if (!buf_len(&c->out))
			break;
		r = buf_send(&c->out, c->io.fd);
		if (r == -EAGAIN)
			break;
		if (r < 0) {
			client_drop(c);
			return;
		}
	}
	if (c->dead || c->server->held)
		return;
	buf_trim(&c->out, IO_KEEP_BYTES);
	if (c->closing && !buf_len(&c->out) && !c->silent) {
		client_drop(c);
		return;
	}
	/* a refused client is read for a moment more: one that is still writing would not see the reason */
	if (c->closing && !buf_len(&c->out))
		shutdown(c->io.fd, SHUT_WR);
	client_watch(c);
}

static void on_unix_dirty(void *ctx)
{
	struct unix_client *c = ctx;

	loop_defer(c->server->loop, &c->flush_task, client_flush, c);
}

static void on_close_overdue(void *ctx)
{
	client_drop(ctx);
}

static void on_unix_close(void *ctx, int code _unused_, const char *reason)
{
	struct unix_client *c = ctx;

	c->closing = true;
	c->why = reason;
	/* for one that does not read the reason */
	loop_timer_set(c->server->loop, &c->close_timer, 5000, on_close_overdue, c);
	on_unix_dirty(c);
}

static void log_refused(struct unix_server *u, const struct unix_listener *l, const char *reason)
{
	tokens_note(u->info->tokens, DOOR_LOCAL, NULL, false);
	if (!bucket_take(&u->refusals, clock_mono_ms(), LOG_BURST, LOG_EACH_MS))
		return;
	log_info("net", "refused", "reason", reason, "over", l->name, "leftOut",
		 NUMBER_TEXT(bucket_left_out(&u->refusals)));
}

/* Sends one line with the reason, and ignores all its input. */
static void unix_refuse(struct unix_client *c, const char *reason, const char *message)
{
	log_refused(c->server, c->silent, reason);
	control_refuse(&c->out, reason, message);
	on_unix_close(c, 1008, reason);
}

/* A process that works for a client may not act as a client. Checked when it has sent something: many silent ones cost
 * nothing. */
static bool is_child(const struct unix_server *u, int fd)
{
	const struct cgroups *groups = proc_host_cgroups(u->info->procs);
	struct peer_process peer;
	bool ours = true;

	if (ancestry_peer(fd, &peer) == 0)
		ours = ancestry_is_ours(&peer, cgroups_path(groups, CGROUP_KILLING));
	closep(&peer.pidfd);
	return ours;
}

static bool may_speak(struct unix_client *c)
{
	if (c->has_sent_line || !is_child(c->server, c->io.fd))
		return true;
	unix_refuse(c, "CHILD_NOT_ALLOWED",
		    "a process that the daemon has started may not use this socket");
	return false;
}

static void unix_take_line(struct unix_client *c, struct slice line)
{
	if (!may_speak(c))
		return;
	set_heard(c);
	if (c->conn)
		acp_conn_feed(c->conn, (char *)line.p, line.n); /* in our own buffer */
	else
		control_answer(&(struct control_context){ c->server->claims, c->server->info,
							  unixsock_peer_root(c->io.fd) },
			       line, &c->out);
}

/* JSON never begins with a capital letter, an HTTP request always does. True: the HTTP server has it now. */
static bool hand_over_http(struct unix_client *c)
{
	char first;

	if (!c->awaits_first_byte || recv(c->io.fd, &first, 1, MSG_PEEK) != 1)
		return false;
	c->awaits_first_byte = false;
	if (first < 'A' || first > 'Z' || !c->server->adopt)
		return false;
	if (!may_speak(c))
		return false;
	/* the socket leaves our epoll set with the byte unread, so that HTTP sees its whole request */
	loop_io_set(c->server->loop, &c->io, 0);
	c->server->adopt(c->server->adopt_ctx, TAKE_FD(c->io.fd));
	client_drop(c);
	return true;
}

static void client_read(struct unix_client *c)
{
	char *space = lines_space(&c->in, CHILD_READ_BYTES);
	struct slice line;
	ssize_t n;
	int r;

	n = space ? read(c->io.fd, space, CHILD_READ_BYTES) : 0;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		client_drop(c);
		return;
	}
	if (c->closing) /* thrown away: see client_flush */
		return;
	lines_filled(&c->in, (size_t)n);
	while ((r = lines_next(&c->in, &line)) > 0 && !c->closing)
		if (line.n)
			unix_take_line(c, line);
	lines_trim(&c->in);
	if (r < 0)
		client_drop(c);
	else
		on_unix_dirty(c);
}

static void on_unix_client(void *ctx, uint32_t events)
{
	struct unix_client *c = ctx;

	if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) && !hand_over_http(c))
		client_read(c);
	if (!c->dead && (events & EPOLLOUT))
		client_flush(c);
}

static void on_unix_silent(void *ctx)
{
	struct unix_client *c = ctx;

	if (!c->dead)
		log_refused(c->server, c->silent, "SILENT");
	client_drop(c);
}

static struct unix_client *client_new(struct unix_listener *l, int fd)
{
	struct unix_client *c = new0(struct unix_client);
	struct unix_server *u = l->server;

	c->server = u;
	c->silent = l;
	snprintf(c->id, sizeof(c->id), "local-%llu", (unsigned long long)++u->last_id);
	c->io = (struct loop_io){ .fd = fd, .fn = on_unix_client, .ctx = c };
	lines_init(&c->in, MESSAGE_MAX);
	list_add_tail(&l->silent, &c->link);
	l->nsilent++;
	client_watch(c);
	loop_timer_set(u->loop, &c->close_timer, HANDSHAKE_SECS * 1000, on_unix_silent, c);
	return c;
}

static void unix_make_room(struct unix_listener *l)
{
	struct unix_client *oldest;

	if (l->nsilent < LOCAL_SILENT_MAX)
		return;
	log_refused(l->server, l, "CROWDED_OUT");
	oldest = list_first(&l->silent, struct unix_client, link);
	leave_silent(oldest);
	client_drop(oldest);
}

static void begin_acp(struct unix_client *c)
{
	struct acp_transport t = { on_unix_dirty, on_unix_close, c, c->id, &grant_admin };

	c->conn = acp_conn_new(c->server->acp, &t, NULL);
	c->awaits_first_byte = true;
}

static void on_unix_accept(void *ctx, int fd)
{
	struct unix_listener *l = ctx;
	struct unix_server *u = l->server;
	struct unix_client *c;

	if (!unixsock_peer_trusted(fd)) {
		log_refused(u, l, "UID_NOT_ALLOWED");
		close(fd);
		return;
	}
	unix_make_room(l);
	c = client_new(l, fd);
	if (u->nclients > LOCAL_MAX)
		unix_refuse(c, "TOO_MANY_CONNECTIONS", "the limit of connections is reached");
	else if (l->acp && claim_desk_open(u->claims))
		unix_refuse(c, "UNCLAIMED", "the daemon has no token yet");
	else if (l->acp)
		begin_acp(c);
}

static int no_run_dir(struct err *e, const char *name, int r)
{
	return err_set(e, r, 0, "RUN_DIR_UNUSABLE", "--run-dir: cannot make %s: %s", name,
		       strerror(-r));
}

static int listener_open(struct unix_server *u, struct unix_listener *l, const char *run_dir,
			 const char *name, bool acp, struct err *e)
{
	int fd;

	l->server = u;
	l->acp = acp;
	l->name = name;
	l->path = file_join(run_dir, name);
	fd = unixsock_listen(l->path);
	if (fd < 0)
		return no_run_dir(e, name, fd);
	return acceptor_open(&l->acceptor, u->loop, fd, on_unix_accept, l);
}

struct unix_server *unix_server_new(struct loop *loop, const char *run_dir, struct acp_server *acp,
				    struct claim_desk *claims, struct http_context *info,
				    struct err *e)
{
	struct unix_server *u = new0(struct unix_server);
	int r = file_mkdirs(run_dir, 0711);

	u->loop = loop;
	u->acp = acp;
	u->claims = claims;
	u->info = info;
	list_init(&u->clients);
	list_init(&u->listeners[0].silent);
	list_init(&u->listeners[1].silent);
	if (r < 0)
		no_run_dir(e, run_dir, r);
	if (r < 0 || listener_open(u, &u->listeners[0], run_dir, "control.sock", false, e) < 0 ||
	    listener_open(u, &u->listeners[1], run_dir, "acp.sock", true, e) < 0)
		return unix_server_free(u);
	return u;
}

void unix_server_serve_http(struct unix_server *u, void (*adopt)(void *ctx, int fd), void *ctx)
{
	u->adopt = adopt;
	u->adopt_ctx = ctx;
}

/* fn for every client. */
static void each_client(struct unix_server *u, void (*fn)(struct unix_client *c))
{
	struct list *const lists[] = { &u->clients, &u->listeners[0].silent,
				       &u->listeners[1].silent };

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		list_each(c, lists[i], struct unix_client, link)
			if (!c->dead)
				fn(c);
}

static void stir(struct unix_client *c)
{
	client_watch(c);
	on_unix_dirty(c);
}

void unix_server_hold(struct unix_server *u, bool hold)
{
	u->held = hold;
	for (size_t i = 0; i < ARRAY_SIZE(u->listeners); i++)
		acceptor_hold(&u->listeners[i].acceptor, hold);
	each_client(u, stir);
}

void unix_server_drop(struct unix_server *u)
{
	each_client(u, client_drop);
}

static void unix_free_all(struct list *clients)
{
	list_each(c, clients, struct unix_client, link)
		unix_client_free(c);
}

struct unix_server *unix_server_free(struct unix_server *u)
{
	if (!u)
		return NULL;
	unix_free_all(&u->clients);
	for (size_t i = 0; i < ARRAY_SIZE(u->listeners); i++) {
		struct unix_listener *l = &u->listeners[i];

		unix_free_all(&l->silent);
		if (l->acceptor.loop)
			unlink(l->path);
		acceptor_close(&l->acceptor);
		free(l->path);
	}
	free(u);
	return NULL;
}
