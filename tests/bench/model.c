/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.c - what a streamed model call costs on its way through the daemon.
 *
 *	model bare   KEY=VALUE…	us, as harness - us, as provider
 *	model tunnel KEY=VALUE…	us, as harness - acpd - WebSocket - us, as the client that has the answer
 *	model direct KEY=VALUE…	us, as harness - acpd - acpd-fetch - us, as provider
 *
 * At both ends it is the same program with one loop: a piece of an answer is sent when the one before it has come. So what a way adds is
 * the difference to "bare". With mib= it sends so much without waiting instead. Prints one JSON object.
 *
 * harness=ADDRESS:PORT key=KEY (of the listener; bare: none) provider=PORT session=ID calls=N n=PIECES size=BYTES mib=MIB
 * port= token=FILE daemon=PID fetch=PID seconds=
 */
#include "acp.h"
#include "args.h"
#include "probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BODY_BYTES ((size_t)40 << 10) /* of a request: as a harness sends at first */
#define READ_BYTES ((size_t)1 << 18)
#define WINDOW ((size_t)256 << 10)
#define PIECE_END "\n\n"
#define ANSWER_END "0\r\n\r\n"

struct settings set = { .path = "/acp", .n = 500, .size = 200, .seconds = 120 };

static struct {
	const char *harness, *key, *session;
	long provider, calls, mib, fetch;
} own = { .key = "none", .calls = 20 };

/* A piece as it stands in the answer, and as the text of a JSON message. */
static struct {
	char *plain, *escaped;
	size_t plain_n, escaped_n;
} piece;

static struct {
	int fd;
	char buf[READ_BYTES];
	size_t n;
	uint64_t got; /* bytes */
} harness = { .fd = -1 };

/* Where the answers come from: a connection to the provider that we are, or the WebSocket of the client. */
static struct {
	bool tunnel, asked;
	int listen, fd;
	char head[READ_BYTES];
	size_t n;
	struct acp *acp;
	char call[128];
	uint64_t rpc;
	long seq;
	size_t credit;
} origin = { .listen = -1, .fd = -1 };

/* --- the answer ---------------------------------------------------------------------------------------------- */

static void make_piece(size_t size)
{
	static const char begin[] = "data: {\"choices\":[{\"delta\":{\"content\":\"",
			  end[] = "\"}}]}";
	size_t pad = size > sizeof(begin) + sizeof(end) + 2 ? size - sizeof(begin) - sizeof(end) :
							      1;
	char *p = piece.plain = need(malloc(sizeof(begin) + sizeof(end) + pad + 2));
	char *e = piece.escaped = need(malloc(2 * (sizeof(begin) + sizeof(end) + pad + 2)));

	piece.plain_n = (size_t)sprintf(p, "%s%0*d%s" PIECE_END, begin, (int)pad, 0, end);
	for (; *p; p++) {
		if (*p == '"' || *p == '\n')
			*e++ = '\\';
		*e++ = *p == '\n' ? 'n' : *p;
	}
	piece.escaped_n = (size_t)(e - piece.escaped);
}

static void tunnel_notify(const char *method, const char *more, const char *text, size_t n)
{
	static char line[READ_BYTES];
	int k = snprintf(
		line, sizeof(line),
		"{\"jsonrpc\":\"2.0\",\"method\":\"_acpd/model/%s\",\"params\":{\"callId\":\"%s\",%s",
		method, origin.call, more);

	memcpy(line + k, text, n);
	memcpy(line + k + n, "}}", 2);
	wire_send(origin.acp->wire, line, (size_t)k + n + 2);
}

static void send_head(void)
{
	if (origin.tunnel)
		tunnel_notify("head",
			      "\"status\":200,\"headers\":{\"content-type\":\"text/event-stream\"}",
			      "", 0);
	else
		send_text(origin.fd, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
				     "transfer-encoding: chunked\r\n\r\n");
}

static void send_piece(void)
{
	char more[64];
	int n;

	if (origin.tunnel) {
		snprintf(more, sizeof(more), "\"seq\":%ld,\"text\":\"", origin.seq++);
		origin.credit -= piece.plain_n;
		piece.escaped[piece.escaped_n] = '"';
		tunnel_notify("chunk", more, piece.escaped, piece.escaped_n + 1);
		return;
	}
	n = snprintf(more, sizeof(more), "%zx\r\n", piece.plain_n);
	send_all(origin.fd,
		 (struct iovec[]){ { more, (size_t)n },
				   { piece.plain, piece.plain_n },
				   { (char *)"\r\n", 2 } },
		 3);
}

static void send_end(void)
{
	char line[128];
	int n;

	if (!origin.tunnel) {
		send_text(origin.fd, ANSWER_END);
		return;
	}
	n = snprintf(line, sizeof(line),
		     "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64 ",\"result\":{\"complete\":true}}",
		     origin.rpc);
	wire_send(origin.acp->wire, line, (size_t)n);
}

/* --- the request, where it arrives --------------------------------------------------------------------------- */

/* A request whose body has come is taken off. */
static void provider_take(void)
{
	char *end = memmem(origin.head, origin.n, "\r\n\r\n", 4), *length;
	size_t whole;

	if (!end)
		return;
	*end = '\0';
	length = strcasestr(origin.head, "\r\ncontent-length:");
	if (!length)
		die("a request without content-length: %s", origin.head);
	whole = (size_t)(end + 4 - origin.head) + strtoul(length + 17, NULL, 10);
	*end = '\r';
	if (origin.n < whole)
		return;
	memmove(origin.head, origin.head + whole, origin.n - whole);
	origin.n -= whole;
	origin.asked = true;
}

static void provider_ready(void)
{
	ssize_t r = read(origin.fd, origin.head + origin.n, sizeof(origin.head) - origin.n);

	if (r <= 0) {
		close(origin.fd);
		origin.fd = -1;
		origin.n = 0;
		return;
	}
	origin.n += (size_t)r;
	provider_take();
}

static void provider_accept(void)
{
	int on = 1;

	if (origin.fd >= 0)
		close(origin.fd);
	origin.fd = accept4(origin.listen, NULL, NULL, SOCK_CLOEXEC);
	origin.n = 0;
	if (origin.fd < 0)
		die("accept: %m");
	setsockopt(origin.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static void on_message(const char *text, size_t n)
{
	const char *id = memmem(text, n, "\"id\":", 5), *at;

	if (memmem(text, n, "_acpd/model/credit", 18)) {
		at = memmem(text, n, "\"bytes\":", 8);
		origin.credit += at ? strtoul(at + 8, NULL, 10) : 0;
	} else if (memmem(text, n, "_acpd/model/body", 16)) {
		/* it is within the window as a whole */
		origin.asked = memmem(text + n - 32, 32, "\"last\":true", 11) != NULL;
	} else if (memmem(text, n, "_acpd/model/request", 19)) {
		at = memmem(text, n, "\"callId\":\"", 10);
		if (!id || !at || sscanf(at + 10, "%127[^\"]", origin.call) != 1)
			die("the client got %.*s", (int)n, text);
		origin.rpc = strtoull(id + 5, NULL, 10);
		origin.seq = 0;
		origin.credit = WINDOW;
	} else if (memmem(text, n, "$/cancel_request", 16)) {
		die("the call was cancelled");
	}
}

static void tunnel_ready(void)
{
	struct wire *w = origin.acp->wire;
	char *text;
	size_t n;

	do {
		if (!wire_recv(w, &text, &n, 1000))
			die("the daemon has closed");
		on_message(text, n);
	} while (w->at < w->len);
}

/* --- turning ------------------------------------------------------------------------------------------------- */

static void harness_ready(void)
{
	ssize_t r = read(harness.fd, harness.buf + harness.n, sizeof(harness.buf) - harness.n);

	if (r <= 0)
		die("the harness's connection has ended: %.*s", (int)harness.n, harness.buf);
	harness.n += (size_t)r;
	harness.got += (uint64_t)r;
}

static void turn(short provider_events)
{
	struct pollfd fds[] = {
		{ harness.fd, POLLIN, 0 },
		{ origin.tunnel ? origin.acp->wire->rfd : origin.fd, provider_events, 0 },
		{ origin.listen, POLLIN, 0 },
	};

	if (poll(fds, 3, -1) < 0)
		die("poll: %m");
	if (fds[1].revents & (POLLIN | POLLHUP)) {
		if (origin.tunnel)
			tunnel_ready();
		else
			provider_ready();
	}
	if (fds[2].revents)
		provider_accept();
	if (fds[0].revents)
		harness_ready();
}

/* What stands before the end of mark has been read, and goes. */
static void harness_wait(const char *mark)
{
	size_t n = strlen(mark);
	char *at;

	while (!(at = memmem(harness.buf, harness.n, mark, n)))
		turn(POLLIN);
	at += n;
	harness.n -= (size_t)(at - harness.buf);
	memmove(harness.buf, at, harness.n);
}

static void harness_connect(void)
{
	char name[64];
	struct sockaddr_in to = { .sin_family = AF_INET };
	const char *colon = own.harness ? strchr(own.harness, ':') : NULL;
	int on = 1;

	if (!colon || (size_t)(colon - own.harness) >= sizeof(name))
		die("model: no harness=");
	snprintf(name, sizeof(name), "%.*s", (int)(colon - own.harness), own.harness);
	to.sin_port = htons((uint16_t)strtol(colon + 1, NULL, 10));
	harness.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (inet_pton(AF_INET, name, &to.sin_addr) != 1 || harness.fd < 0 ||
	    connect(harness.fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		die("connect to %s: %m", own.harness);
	setsockopt(harness.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static void harness_ask(void)
{
	static char text[BODY_BYTES + 1024];
	static const char begin[] = "{\"model\":\"stub-small\",\"stream\":true,\"pad\":\"";
	int n = snprintf(text, sizeof(text),
			 "POST /model/v1/chat/completions HTTP/1.1\r\nhost: provider\r\n"
			 "authorization: Bearer %s\r\ncontent-type: application/json\r\n"
			 "content-length: %zu\r\n\r\n%s%0*d\"}",
			 own.key, BODY_BYTES, begin, (int)(BODY_BYTES - sizeof(begin) - 1), 0);

	origin.asked = false;
	send_all(harness.fd, &(struct iovec){ text, (size_t)n }, 1);
	while (!origin.asked)
		turn(POLLIN);
}

/* --- what is measured ---------------------------------------------------------------------------------------- */

static uint64_t cpu_used(void)
{
	return (set.daemon ? cpu_ns((pid_t)set.daemon) : 0) +
	       (own.fetch ? cpu_ns((pid_t)own.fetch) : 0);
}

/* A whole call; first and took (n of them) may be NULL. */
static void one_call(uint64_t *first, uint64_t *took)
{
	uint64_t at = now_ns();

	harness_ask();
	send_head();
	send_piece();
	harness_wait(PIECE_END);
	if (first)
		*first = now_ns() - at;
	for (long i = 0; i < set.n; i++) {
		at = now_ns();
		send_piece();
		harness_wait(PIECE_END);
		if (took)
			took[i] = now_ns() - at;
	}
	send_end();
	harness_wait(ANSWER_END);
}

static void measure_pieces(void)
{
	size_t calls = (size_t)own.calls, all = calls * (size_t)set.n;
	uint64_t *first = need(calloc(calls, sizeof(*first)));
	uint64_t *took = need(calloc(all, sizeof(*took)));
	uint64_t cpu;

	for (int i = 0; i < 3; i++)
		one_call(NULL, NULL);
	cpu = cpu_used();
	for (size_t i = 0; i < calls; i++)
		one_call(first + i, took + i * (size_t)set.n);
	cpu = cpu_used() - cpu;
	sort_ns(first, calls);
	sort_ns(took, all);
	printf("{\"p50_us\":%.2f,\"p99_us\":%.2f,\"first_p50_us\":%.2f,\"first_p99_us\":%.2f,\"cpu_us\":%.3f}\n",
	       (double)took[all / 2] / 1e3, (double)took[all * 99 / 100] / 1e3,
	       (double)first[calls / 2] / 1e3, (double)first[calls * 99 / 100] / 1e3,
	       (double)cpu / 1e3 / (double)all);
	free(first);
	free(took);
}

/* True if a piece may be sent without waiting. */
static bool has_room(void)
{
	struct pollfd p = { .fd = origin.fd, .events = POLLOUT };

	return origin.tunnel ? origin.credit >= piece.plain_n :
			       poll(&p, 1, 0) > 0 && p.revents & POLLOUT;
}

static void measure_bulk(void)
{
	size_t left = ((size_t)own.mib << 20) / piece.plain_n;
	double mb = (double)(left * piece.plain_n) / 1e6;
	uint64_t start, cpu;

	harness_ask();
	send_head();
	start = now_ns();
	cpu = cpu_used();
	while (left) {
		for (; left && has_room(); left--)
			send_piece();
		harness.n = 0;
		turn(left && !origin.tunnel ? POLLIN | POLLOUT : POLLIN);
	}
	send_end();
	while (harness.n < sizeof(ANSWER_END) - 1 ||
	       memcmp(harness.buf + harness.n - (sizeof(ANSWER_END) - 1), ANSWER_END,
		      sizeof(ANSWER_END) - 1) != 0) {
		if (harness.n > sizeof(harness.buf) / 2) {
			memmove(harness.buf, harness.buf + harness.n - sizeof(ANSWER_END),
				sizeof(ANSWER_END));
			harness.n = sizeof(ANSWER_END);
		}
		turn(POLLIN);
	}
	cpu = cpu_used() - cpu;
	printf("{\"mb_per_s\":%.2f,\"cpu_ms_per_mb\":%.4f}\n",
	       mb / ((double)(now_ns() - start) / 1e9), (double)cpu / 1e6 / mb);
}

/* --- the two origins ----------------------------------------------------------------------------------------- */

static void open_tunnel(void)
{
	char params[512];
	size_t n;

	origin.tunnel = true;
	origin.acp = need(calloc(1, sizeof(*origin.acp)));
	origin.acp->wire = wire_ws((int)set.port, set.path, set.token);
	acp_answer(
		origin.acp,
		acp_ask(origin.acp, "initialize",
			"{\"protocolVersion\":1,\"clientCapabilities\":{\"_meta\":{\"acpd\":{\"model\":"
			"{\"apis\":[\"openai-chat\"],\"only\":true}}}}}"),
		&n);
	snprintf(params, sizeof(params), "{\"sessionIds\":[\"%s\"]}",
		 own.session ? own.session : "");
	acp_answer(origin.acp, acp_ask(origin.acp, "_acpd/model/attach", params), &n);
}

static void open_provider(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)own.provider),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int on = 1;

	origin.listen = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(origin.listen, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (origin.listen < 0 || bind(origin.listen, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(origin.listen, 16) < 0)
		die("listen: %m");
}

/* --- the command line ---------------------------------------------------------------------------------------- */

static const struct arg_key keys[] = {
	{ "harness", &own.harness, NULL },  { "key", &own.key, NULL },
	{ "session", &own.session, NULL },  { "provider", NULL, &own.provider },
	{ "calls", NULL, &own.calls },	    { "mib", NULL, &own.mib },
	{ "fetch", NULL, &own.fetch },	    { "n", NULL, &set.n },
	{ "size", NULL, &set.size },	    { "port", NULL, &set.port },
	{ "token", &set.token_file, NULL }, { "cwd", &set.cwd, NULL },
	{ "daemon", NULL, &set.daemon },    { "seconds", NULL, &set.seconds },
};

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";

	args_read(argc, argv, keys, sizeof(keys) / sizeof(*keys));
	signal(SIGPIPE, SIG_IGN);
	alarm((unsigned)set.seconds);
	make_piece((size_t)set.size);
	if (strcmp(way, "tunnel") == 0)
		open_tunnel();
	else if (strcmp(way, "bare") == 0 || strcmp(way, "direct") == 0)
		open_provider();
	else
		die("model: no such way: %s", way);
	harness_connect();
	if (own.mib)
		measure_bulk();
	else
		measure_pieces();
	return 0;
}
