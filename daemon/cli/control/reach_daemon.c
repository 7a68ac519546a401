/*
 * reach_daemon.c - how subcommands reach a daemon: a link by --url or acp.sock, single requests by
 * control.sock.
 *
 * control_call blocks: one line out, one line in, CONTROL_WAIT_MS for the answer, and no loop. A
 * failure to get an answer is always -ECONNREFUSED with UNREACHABLE; an error of the daemon is
 * -EPROTO with the daemon's code and reason. A token is read from a file or standard input, and
 * wiped after use.
 */
#include "cli/control/reach_daemon.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "json/json.h"
#include "net/claim/admission.h"
#include "base/os/local_sock.h"
#include "rpc/rpc.h"

#include <poll.h>

#define CONTROL_WAIT_MS 15000 /* for the answer of a daemon to a command */

int read_token(const char *path, struct buf *ret, struct err *e)
{
	int r = path ? file_read(path, TOKEN_MAX + 16, ret) :
		       file_read_fd(STDIN_FILENO, TOKEN_MAX + 16, ret);

	if (r < 0)
		return err_set(e, r, 0, "TOKEN_UNREADABLE", "%s: %s",
			       path ? path : "standard input", strerror(-r));
	/* A file that an editor has written ends in a line break. */
	while (ret->len && (unsigned char)ret->data[ret->len - 1] <= ' ')
		ret->len--;
	return 0;
}

struct daemon_link *reach_daemon(struct loop *loop, const struct config *c,
				 const struct daemon_link_events *ev, void *ctx, struct err *e)
{
	_cleanup_(secret_buf_done) struct buf token = { 0 };

	if (!c->url) {
		if (c->socket)
			return daemon_link_open_socket(loop, c->socket, ev, ctx, e);
		err_field(e, "socket", "OPTION_INVALID", "--url or --socket is needed");
		return NULL;
	}
	if (c->token_file && read_token(c->token_file, &token, e) < 0)
		return NULL;
	return daemon_link_open_url(loop, c->url, buf_slice(&token), ev, ctx, e);
}

/* Blocks until there is something to read. */
static int wait_until(int fd, uint64_t until)
{
	uint64_t now = clock_mono_ms();
	struct pollfd p = { fd, POLLIN, 0 };

	return now < until && poll(&p, 1, (int)(until - now)) != 0 ? 0 : -ETIMEDOUT;
}

/* Blocking: one line out, one line in. */
static int exchange(int fd, struct buf *line)
{
	uint64_t until = clock_mono_ms() + CONTROL_WAIT_MS;
	int r;

	/* unixsock_connect makes sockets that do not block. */
	fcntl(fd, F_SETFL, 0);
	/* SIGPIPE would end the command; it reports a daemon that closes the socket meanwhile, or asks again */
	r = file_send_all(fd, line->data, line->len);
	buf_reset(line);
	while (r == 0 && !(line->len && line->data[line->len - 1] == '\n')) {
		ssize_t n;

		r = wait_until(fd, until);
		if (r == 0)
			r = buf_reserve(line, 4096);
		if (r < 0)
			return r;
		n = RETRY(read(fd, line->data + line->len, 4096));
		if (n <= 0)
			return -ECONNRESET;
		line->len += (size_t)n;
	}
	return r;
}

static int control_error(const struct rpc_msg *m, struct err *e)
{
	_cleanup_(freep) char *text = jobj_str(m->error, "message", 4096),
			      *reason = jobj_str(jobj_get(m->error, "data").raw, "reason", 64);
	int64_t code = RPC_INTERNAL_ERROR;

	jdec_int(jobj_get(m->error, "code"), &code);
	return err_set(e, -EPROTO, (int)code, reason ? reason : "INTERNAL", "%s",
		       text ? text : "error");
}

int control_call(const struct config *c, const char *method, struct slice params,
		 struct buf *result, struct err *e)
{
	_cleanup_(freep) char *path = c->run_dir ? file_join(c->run_dir, "control.sock") : NULL;
	_cleanup_(closep) int fd = path ? unixsock_connect(path) : -ENOENT;
	_cleanup_(buf_done) struct buf line = { 0 };
	struct rpc_msg m;
	int r = 0;

	if (fd >= 0) {
		rpc_put_request(&line, 1, method, params);
		buf_putc(&line, '\n');
		r = exchange(fd, &line);
	}
	if (fd < 0 || r < 0)
		return err_set(e, -ECONNREFUSED, 0, "UNREACHABLE", "no daemon answers on %s: %s",
			       path ? path : "a control socket", strerror(fd < 0 ? -fd : -r));
	if (rpc_parse(buf_slice(&line), &m, e) != RPC_PARSED || m.kind != RPC_RESPONSE)
		return err_set(e, -EPROTO, 0, "PROTOCOL", "the daemon gave no sensible answer");
	if (m.error.n)
		return control_error(&m, e);
	return buf_add_slice(result, m.result);
}

int control_ask(const struct config *c, const char *method, struct slice params, struct buf *result)
{
	struct err e;
	int r = control_call(c, method, params, result, &e);

	if (r < 0)
		return fail(r == -ECONNREFUSED ? EXIT_UNREACHABLE : EXIT_REFUSED, "%s", e.msg);
	return EXIT_DONE;
}

void control_print_list(const struct config *c, struct slice result, const char *key,
			void (*print)(struct slice element))
{
	if (c->json) {
		print_pretty(result);
		return;
	}
	jarr_each(v, jobj_get(result, key))
		print(v.raw);
}
