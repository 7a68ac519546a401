/* Whole connections through the real library: several at a time, each with as many requests, upgrades and frames as the input brings,
 * pipelined or one by one, ended at any point. Nothing freed is read (the sanitizers see it), every answer begins as one, nothing but
 * /health is served to who does not show the token, and when all are gone the server counts nobody.
 *
 * The input is what the client says; these bytes, which no request needs, are told apart:
 *	F5 the server works, and what it answers is read	F6 the next connection, up to WIDTH, in a circle
 *	F7 the client ends its side				F8 it closes; saying more opens it again
 * Then the same bytes are said on a connection that is closed in the middle, at every byte where the corpus runs. */
#include "fuzz.h"

#include "base/os/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "net/ws.h"

#include <sys/socket.h>

#define WIDTH 4
#define TOKEN "fuzz-token-of-24-bytes-x"
#define ROUNDS 6    /* of the server, for what it was given */
#define PATIENCE 64 /* until all that was closed is gone */

static struct net_server *server;
static struct loop *loop;
static struct proc_host *procs;

struct talker {
	int fd;
	struct buf answer;
};

/* --- the daemon, but for its command line ------------------------------------------------------------------ */

static struct mcp_backend *find_nothing(void *ctx _unused_, struct slice name _unused_,
					struct slice session _unused_, struct err *e)
{
	err_set(e, -ENOENT, 0, "MCP_SERVER_UNKNOWN", "there is no such server");
	return NULL;
}

static char state[] = "/tmp/acpd-fuzz-XXXXXX";

static void remove_state(void)
{
	file_remove_tree(state);
}

static struct admission *make_gate(void)
{
	struct admission *g = admission_new(&(struct admission_config){
		.allow_origins = "https://app.example.com", .allow_query_token = true });
	struct err e;
	char path[64];

	snprintf(path, sizeof(path), "%s/token", state);
	FUZZ_CHECK(file_replace(path, TOKEN, strlen(TOKEN), 0600) == 0);
	FUZZ_CHECK(admission_load(g, path, &e) == 0 && admission_claimed(g));
	return g;
}

/* It has cgroups, which nobody else removes. */
static void end_procs(void)
{
	procs = proc_host_free(procs);
}

static struct session_store *make_store(struct http_context *http)
{
	static struct harness_table harnesses;
	static char *no_env[] = { NULL };
	struct archive_config ac = { .dir = state, .store_max = MIB, .upload_max = MIB };
	struct store_config sc = { .state = state,
				   .incarnation = "fuzz",
				   .workspaces = state,
				   .terms.network_max = EGRESS_ON };
	struct hosted_config hc = { .env = no_env, .home = "/" };
	static struct mcp_endpoint endpoint = { find_nothing, NULL };
	struct err e = { 0 };

	FUZZ_CHECK(harness_table_load(&harnesses, NULL, &e) == 0);
	http->procs = procs = proc_host_new(loop, NULL);
	atexit(end_procs);
	http->archives = archive_store_open(loop, &ac, &e);
	sc.archives = http->archives;
	http->hosted = hosted_new(loop, http->procs, &hc);
	http->mcp = mcp_http_new(loop, &endpoint);
	return store_new(loop, http->procs, &harnesses, &sc, &e);
}

static void start(void)
{
	static struct http_context http;
	static const struct acp_config ac = { "codex", 1 * MIB, NULL, NULL, NULL };
	static const struct net_config nc = {
		.host = "127.0.0.1", .ping_interval = 20, .ping_timeout = 20, .max_connections = 16
	};
	struct err e = { 0 };

	setenv("PATH", "/nonexistent", 1); /* there is no harness to start */
	FUZZ_CHECK(mkdtemp(state));
	atexit(remove_state);
	log_set_level(LOG_ERROR);
	loop = loop_new();
	http.loop = loop;
	http.store = make_store(&http);
	FUZZ_CHECK(http.store && http.archives);
	server = net_server_new(loop, acp_server_new(loop, http.store, &ac), make_gate(), &http,
				&nc, &e);
	FUZZ_CHECK(server);
}

static void work(unsigned rounds)
{
	while (rounds--) {
		socket_wait_asked(server); /* so that it does not wait */
		FUZZ_CHECK(socket_wait_turn(server) == 0);
		loop_run_deferred(loop);
		ws_flush_dirty(server);
	}
}

/* --- the clients ------------------------------------------------------------------------------------------ */

static void listen_to(struct talker *t)
{
	char piece[4096];
	ssize_t n;

	while (t->fd >= 0 && (n = recv(t->fd, piece, sizeof(piece), MSG_DONTWAIT)) > 0)
		if (buf_len(&t->answer) < 64 * KIB)
			buf_add(&t->answer, piece, (size_t)n);
}

static void open_one(struct talker *t)
{
	int fds[2];

	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
	t->fd = fds[0];
	visitor_adopt(server, fds[1], false);
}

static void hang_up(struct talker *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}

static void say(struct talker *t, struct slice text)
{
	if (!text.n)
		return;
	if (t->fd < 0)
		open_one(t);
	if (send(t->fd, text.p, text.n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		listen_to(t); /* it is closed, or does not read: both are its right */
}

static bool has(struct slice in, const char *text)
{
	return in.n && memmem(in.p, in.n, text, strlen(text));
}

static void check_answer(struct slice answer, bool token)
{
	if (!answer.n)
		return;
	FUZZ_CHECK(slice_starts(answer, "HTTP/1.") || answer.n < 7);
	FUZZ_CHECK(token || (!has(answer, "101 Switching") && !has(answer, "\"incarnation\"") &&
			     !has(answer, "acpd_uptime") && !has(answer, "\"sessions\"")));
}

static void finish(struct talker *t, bool token)
{
	listen_to(t);
	hang_up(t);
	check_answer(buf_slice(&t->answer), token);
	buf_done(&t->answer);
}

static void check_empty(void)
{
	for (int i = 0; i < PATIENCE &&
			(server->connections || server->unauthenticated || server->authenticated);
	     i++)
		work(1);
	FUZZ_CHECK(!server->connections && !server->unauthenticated && !server->authenticated);
}

/* A byte that is told apart, after what was said before it. Which connection is meant from now on. */
static size_t act(struct talker *all, size_t at, unsigned char what)
{
	if (what == 0xF5) {
		work(ROUNDS);
		for (size_t i = 0; i < WIDTH; i++)
			listen_to(&all[i]);
	}
	if (what == 0xF7 && all[at].fd >= 0)
		shutdown(all[at].fd, SHUT_WR);
	if (what == 0xF8)
		hang_up(&all[at]);
	return what == 0xF6 ? (at + 1) % WIDTH : at;
}

static bool is_told_apart(char c)
{
	return (unsigned char)c >= 0xF5 && (unsigned char)c <= 0xF8;
}

static void play(struct slice script, bool token)
{
	struct talker all[WIDTH];
	size_t at = 0, from = 0;

	for (size_t i = 0; i < WIDTH; i++)
		all[i] = (struct talker){ .fd = -1 };
	for (size_t i = 0; i <= script.n; i++) {
		if (i < script.n && !is_told_apart(script.p[i]))
			continue;
		say(&all[at], (struct slice){ script.p + from, i - from });
		if (i < script.n)
			at = act(all, at, (unsigned char)script.p[i]);
		from = i + 1;
	}
	work(ROUNDS);
	for (size_t i = 0; i < WIDTH; i++)
		finish(&all[i], token);
	check_empty();
}

/* How many places the input is cut at. Hunting, some: the next input has others. */
static size_t cuts(size_t size)
{
	const char *asked = getenv("FUZZ_CUTS");

#ifdef __clang__
	if (!asked)
		asked = "4";
#endif
	return asked ? MIN((size_t)atol(asked), size) : size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice all = { (const char *)data, size };
	bool token = has(all, TOKEN) || has(all, "ZnV6ei10b2tlbi1vZi0yNC1ieXRlcy14");
	size_t n = cuts(size);

	if (!server)
		start();
	play(all, token);
	for (size_t i = 0; i < n; i++)
		play((struct slice){ all.p, i * size / n }, token);
	return 0;
}
