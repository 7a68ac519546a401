/*
 * e2b_metadata.c - two requests to E2B's metadata service: a token for the service, then sandbox id
 * and token hash.
 *
 * PUT /latest/api/token and GET / are version 2 of Firecracker's MMDS. A firewall rule inside the
 * sandbox can redirect the address, so only the form of an answer is trusted. Size and time are
 * bounded, and the address must be of the loopback or 169.254.0.0/16. done() can free the query, so
 * no caller of it uses the query after that.
 */
#include "net/claim/e2b_metadata.h"

#include "base/http/authority.h"
#include "base/http/http_fields.h"
#include "base/net/address_rules.h"
#include "json/jdec.h"

#include <netinet/in.h>

#define SERVICE_TOKEN_MAX 1024
#define SERVICE_TOKEN_SECS "60"

enum query_step { STEP_TOKEN, STEP_METADATA };

struct e2b_query {
	struct loop *loop;
	struct e2b_place place;
	enum query_step step;
	struct http_exchange *exchange;
	struct loop_timer late;
	struct buf body;
	int status;
	e2b_done_fn done;
	void *ctx;
};

/* What the service says besides is not looked at. */
struct metadata_text {
	char *instance, *hash;
};

static const struct jfield metadata_fields[] = {
	JF_STR(struct metadata_text, instance, "instanceID", JF_REQUIRED, SANDBOX_ID_MAX),
	JF_STR(struct metadata_text, hash, "accessTokenHash", JF_REQUIRED, 2 * SHA512_BYTES),
	JF_END,
};

/* --- where it is ------------------------------------------------------------------------------------------ */

/* 0xa9fe is 169.254. */
static bool is_near(const struct sockaddr *a)
{
	return address_is_loopback(a) ||
	       (a->sa_family == AF_INET &&
		ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 16 == 0xa9fe);
}

int e2b_place_parse(const char *url, struct e2b_place *ret, struct err *e)
{
	struct slice rest = slice_of(url);
	struct authority a;

	*ret = (struct e2b_place){ 0 };
	if (!slice_skip(&rest, "http://"))
		return err_field(e, "metadata-url", "OPTION_INVALID",
				 "--metadata-url: '%s' does not begin with http://", url);
	if (rest.n && rest.p[rest.n - 1] == '/')
		rest.n--;
	if (rest.n >= sizeof(ret->host) || !authority_parse(rest, 1, &a) ||
	    !address_parse(a.host, &ret->at) || !is_near((struct sockaddr *)&ret->at))
		return err_field(
			e, "metadata-url", "OPTION_INVALID",
			"--metadata-url: '%s' has no address of the loopback or of 169.254.0.0/16 alone",
			url);
	address_set_port(&ret->at, a.port < 0 ? 80 : a.port);
	memcpy(ret->host, rest.p, rest.n);
	return 0;
}

/* --- the end ---------------------------------------------------------------------------------------------- */

struct e2b_query *e2b_query_close(struct e2b_query *q)
{
	if (!q)
		return NULL;
	http_exchange_close(q->exchange);
	loop_timer_cancel(&q->late);
	buf_done(&q->body);
	free(q);
	return NULL;
}

/* q may be gone when this returns. */
static void fail_query(struct e2b_query *q, const char *why)
{
	struct err e;

	q->exchange = http_exchange_close(q->exchange);
	loop_timer_cancel(&q->late);
	err_set(&e, -EHOSTUNREACH, RPC_INTERNAL_ERROR, "METADATA_UNAVAILABLE",
		"the metadata service: %s", why);
	q->done(q->ctx, NULL, &e);
}

static void on_e2b_late(void *ctx)
{
	fail_query(ctx, "no answer in time");
}

static void finish_query(struct e2b_query *q)
{
	struct e2b_metadata m = { 0 };
	struct metadata_text t = { 0 };
	struct jval v;
	struct err e = { 0 };

	if (jscan_value(buf_slice(&q->body), &v) != JSCAN_OK || v.type != J_OBJECT) {
		fail_query(q, "its answer is no JSON object");
		return;
	}
	if (jdec_object(v.raw, metadata_fields, NULL, &t, &e) < 0) {
		fail_query(q, e.msg);
		return;
	}
	m.instance = t.instance;
	loop_timer_cancel(&q->late);
	if (sha512_from_hex(slice_of(t.hash), &m.token_hash) < 0)
		fail_query(q, "accessTokenHash is no SHA-512");
	else if (!sandbox_id_valid(t.instance))
		fail_query(q, "instanceID is no id");
	else
		q->done(q->ctx, &m, NULL);
	jdec_free(metadata_fields, &t);
}

/* --- the two requests ------------------------------------------------------------------------------------- */

static void send_request(struct e2b_query *q, struct buf *request);

static void ask_metadata(struct e2b_query *q)
{
	_cleanup_(freep) char *token = xstrndup(q->body.data + q->body.pos, buf_len(&q->body));
	struct buf request = { 0 };

	/* The token becomes a header: NUL or a line end in it would change the request. */
	if (!*token || strlen(token) != buf_len(&q->body) || strlen(token) > SERVICE_TOKEN_MAX ||
	    !header_value_ok(token)) {
		fail_query(q, "its token is none");
		return;
	}
	buf_reset(&q->body);
	q->step = STEP_METADATA;
	buf_printf(&request,
		   "GET / HTTP/1.1\r\nHost: %s\r\nX-metadata-token: %s\r\n"
		   "Accept: application/json\r\nConnection: close\r\n\r\n",
		   q->place.host, token);
	send_request(q, &request);
}

static void on_e2b_head(void *ctx, const struct http_head *h)
{
	struct e2b_query *q = ctx;

	q->status = h->status;
}

static void on_e2b_data(void *ctx, struct slice bytes)
{
	struct e2b_query *q = ctx;

	if (buf_add_slice(&q->body, bytes) < 0)
		fail_query(q, "its answer is too long");
}

static void on_e2b_end(void *ctx, enum http_exchange_end how, const char *why)
{
	struct e2b_query *q = ctx;
	char text[64];

	if (how != HTTP_EXCHANGE_COMPLETE) {
		fail_query(q, why);
		return;
	}
	q->exchange = http_exchange_close(q->exchange);
	if (q->status != 200) {
		snprintf(text, sizeof(text), "it answered %s with status %d",
			 q->step == STEP_TOKEN ? "PUT /latest/api/token" : "GET /", q->status);
		fail_query(q, text);
	} else if (q->step == STEP_TOKEN) {
		ask_metadata(q);
	} else {
		finish_query(q);
	}
}

static void send_request(struct e2b_query *q, struct buf *request)
{
	static const struct http_exchange_ops ops = { on_e2b_head, on_e2b_data, on_e2b_end };
	static const struct socket_user ourselves = { .switch_user = false };
	struct http_route route = { .as = &ourselves, .addresses = &q->place.at, .n = 1 };

	q->exchange = http_exchange_open(q->loop, &route, request, &ops, q);
}

struct e2b_query *e2b_query_open(struct loop *loop, const struct e2b_place *place, e2b_done_fn done,
				 void *ctx)
{
	struct e2b_query *q = new0(struct e2b_query);
	struct buf request = { 0 };

	q->loop = loop;
	q->place = *place;
	q->done = done;
	q->ctx = ctx;
	q->body.max = E2B_METADATA_MAX;
	loop_timer_set(loop, &q->late, E2B_METADATA_MS, on_e2b_late, q);
	buf_printf(&request,
		   "PUT /latest/api/token HTTP/1.1\r\nHost: %s\r\n"
		   "X-metadata-token-ttl-seconds: " SERVICE_TOKEN_SECS "\r\n"
		   "Content-Length: 0\r\nConnection: close\r\n\r\n",
		   q->place.host);
	send_request(q, &request);
	return q;
}
