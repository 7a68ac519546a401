/* A model call of a harness, and a client that answers it as the input says: in its messages _acpd/model/..., and with the response. What
 * the harness reads is one answer of HTTP, or the beginning of one; what the client is told is JSON; and when both are gone nothing of
 * the call is left.
 *
 * The input is what the client says, message by message; these bytes, which no message needs, are told apart:
 *	F5 the loop works, and the harness reads	F6 the client's connection goes, and another takes its place
 *	F7 the harness gives its call up, and makes another one
 * Calls have the ids model-call:1, model-call:2, and so on, from the first of the input. */
#include "fuzz.h"

#include "acp/acp_server.h"
#include "base/http/http_message.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/os/file.h"
#include "session/core/session_internal.h"
#include "session/parts/model/session_model_internal.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#define BODY_BYTES 200
#define MESSAGES_MAX 64
#define TURNS 3 /* of the loop, for what it was given */
#define PATIENCE 64

static struct loop *loop;
static struct proc_host *procs;
static struct acp_server *server;
static struct session *session;

/* What is at the two ends of the call. */
struct ends {
	int fd; /* the harness's */
	struct buf answer;
	struct acp_conn *client;
	unsigned calls;
};

/* --- the daemon ------------------------------------------------------------------------------------------- */

static char state[] = "/tmp/acpd-fuzz-XXXXXX";

static void remove_state(void)
{
	file_remove_tree(state);
}

static void make_session(struct session_store *store, const struct harness_def *def)
{
	static const char provider[] =
		"{\"api\":\"openai-chat\",\"model\":\"m\",\"headers\":{\"x-a\":\"b\"}}";
	struct setup_params p = { 0 };
	struct err e = { 0 };

	session = session_blank(store, "fuzz");
	session->def = def;
	session->when_detached = DETACHED_HOLD;
	list_add_tail(&store->sessions, &session->link);
	setup_give(&p, &provider_parameter, (struct jval){ J_OBJECT, slice_of(provider) });
	setup_apply(&session->setup, &p);
	FUZZ_CHECK(session_model_open(session, &e) == 0);
}

/* It has cgroups, which nobody else removes. */
static void end_procs(void)
{
	procs = proc_host_free(procs);
}

static void start(void)
{
	static struct harness_table harnesses;
	static const struct acp_config ac = { "codex", 1 * MIB, NULL, NULL, NULL };
	struct store_config sc = { .state = state,
				   .incarnation = "fuzz",
				   .workspaces = state,
				   .terms.network_max = EGRESS_ON };
	struct archive_config archives = { .dir = state, .store_max = MIB, .upload_max = MIB };
	struct session_store *store;
	struct err e = { 0 };

	setenv("PATH", "/nonexistent", 1); /* there is no harness to start */
	FUZZ_CHECK(mkdtemp(state));
	atexit(remove_state);
	log_set_level(LOG_ERROR);
	loop = loop_new();
	FUZZ_CHECK(harness_table_load(&harnesses, NULL, &e) == 0);
	sc.archives = archive_store_open(loop, &archives, &e);
	procs = proc_host_new(loop, NULL);
	atexit(end_procs);
	store = store_new(loop, procs, &harnesses, &sc, &e);
	FUZZ_CHECK(store);
	server = acp_server_new(loop, store, &ac);
	make_session(store, &harnesses.defs[0]);
}

/* --- the harness ------------------------------------------------------------------------------------------ */

static void harness_read(struct ends *x)
{
	char piece[4096];
	ssize_t n;

	while (x->fd >= 0 && (n = recv(x->fd, piece, sizeof(piece), MSG_DONTWAIT)) > 0)
		buf_add(&x->answer, piece, (size_t)n);
}

static void work(struct ends *x)
{
	for (int i = 0; i < TURNS; i++) {
		loop_dispatch(loop);
		harness_read(x);
	}
}

static int harness_connect(void)
{
	const struct sockaddr_in *at = &model_listener_place(model_of(session)->listener)->at;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	FUZZ_CHECK(fd >= 0 && connect(fd, (const struct sockaddr *)at, sizeof(*at)) == 0);
	return fd;
}

static void harness_call(struct ends *x)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	x->fd = harness_connect();
	buf_printf(&b,
		   "POST " MODEL_PREFIX
		   "/v1/chat/completions HTTP/1.1\r\nauthorization: Bearer %s\r\n"
		   "content-length: %d\r\n\r\n{\"model\":\"m\",\"x\":\"",
		   model_listener_place(model_of(session)->listener)->key, BODY_BYTES);
	for (size_t i = strlen("{\"model\":\"m\",\"x\":\"") + 2; i < BODY_BYTES; i++)
		buf_putc(&b, 'x');
	buf_puts(&b, "\"}");
	FUZZ_CHECK(send(x->fd, b.data, b.len, MSG_NOSIGNAL) == (ssize_t)b.len);
	for (int i = 0; i < PATIENCE && list_empty(&model_of(session)->calls); i++)
		loop_dispatch(loop);
	FUZZ_CHECK(!list_empty(&model_of(session)->calls));
	/* the input cannot know what is random */
	snprintf(list_first(&model_of(session)->calls, struct provider_call, link)->id,
		 CALL_ID_SIZE, "model-call:%u", ++x->calls);
}

/* One answer, whole or cut: never the beginning of a second one, never anything else. */
static void check_answer(struct slice in)
{
	struct message_body body;
	struct http_head h;
	struct slice data;
	ssize_t n = http_head_parse(in, &h);
	int r;

	FUZZ_CHECK(n >= 0);
	if (!n)
		return;
	FUZZ_CHECK(h.status >= 200 && h.status <= 599);
	http_body_begin(&body, &h, false);
	in = slice_after(in, (size_t)n);
	while ((r = http_body_next(&body, &in, &data)) > 0)
		;
	FUZZ_CHECK(r == 0 && !in.n);
}

static void harness_leave(struct ends *x)
{
	harness_read(x);
	close(x->fd);
	check_answer(buf_slice(&x->answer));
	buf_reset(&x->answer);
	for (int i = 0; i < PATIENCE && !list_empty(&model_of(session)->calls); i++)
		loop_dispatch(loop);
	FUZZ_CHECK(list_empty(&model_of(session)->calls));
}

/* --- the client --------------------------------------------------------------------------------------------- */

static void on_dirty(void *ctx _unused_)
{
}

static void on_close(void *ctx _unused_, int code _unused_, const char *reason _unused_)
{
}

static bool on_frame(void *ctx _unused_, struct slice text)
{
	FUZZ_CHECK(is_json(text, J_OBJECT));
	return true;
}

static void tell(struct acp_conn *c, struct slice message)
{
	_cleanup_(exact_free) struct slice copy = exact(message.p, message.n);

	acp_conn_feed(c, (char *)copy.p, copy.n);
	while (acp_conn_pump(c, on_frame, NULL))
		;
}

static struct acp_conn *client_connect(void)
{
	static const struct acp_transport t = { on_dirty, on_close, NULL, "fuzz", &grant_admin };
	struct acp_conn *c = acp_conn_new(server, &t, NULL);

	tell(c,
	     SLICE("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1,"
		   "\"clientCapabilities\":{\"_meta\":{\"acpd\":{\"model\":{\"apis\":[\"openai-chat\"],"
		   "\"only\":true}}}}}}"));
	tell(c, SLICE("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"_acpd/model/attach\","
		      "\"params\":{\"sessionIds\":[\"fuzz\"]}}"));
	return c;
}

static void act(struct ends *x, unsigned char what)
{
	if (what == 0xF6) {
		acp_conn_free(x->client);
		x->client = client_connect();
	} else if (what == 0xF7) {
		harness_leave(x);
		harness_call(x);
	}
	work(x);
}

static bool is_told_apart(char c)
{
	return (unsigned char)c >= 0xF5 && (unsigned char)c <= 0xF7;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ends x = { .answer.max = MIB };
	const char *p = (const char *)data;
	size_t from = 0;
	unsigned said = 0;

	if (!loop)
		start();
	harness_call(&x);
	x.client = client_connect();
	for (size_t at = 0; at <= size && said < MESSAGES_MAX; at++) {
		if (at < size && p[at] != '\n' && !is_told_apart(p[at]))
			continue;
		if (at > from)
			tell(x.client, (struct slice){ p + from, at - from });
		if (at < size && is_told_apart(p[at]))
			act(&x, (unsigned char)p[at]);
		from = at + 1;
		said++;
	}
	work(&x);
	acp_conn_free(x.client);
	harness_leave(&x);
	buf_done(&x.answer);
	return 0;
}
