/*
 * e2b_claim.c - POST /v1/claim: verifies E2B's access token by the metadata service, then takes the
 * claim.
 *
 * Every client that reaches the port can call it, so requests, bodies and queries are bounded.
 * Refused tokens drain a bucket; an empty bucket refuses claims without a query, which limits
 * guessing. The hash of zero bytes means that the sandbox has no token, and is refused. While the
 * service and --sandbox-id-file name two sandboxes, a restore is in progress.
 */
#include "net/claim/claim.h"

#include "base/bucket.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "http/request_parts.h"
#include "net/claim/e2b_metadata.h"

struct e2b_claim {
	struct loop *loop;
	struct claim_desk *desk;
	struct e2b_place place;
	struct bucket refused, lines;
	const struct claim_ask *asking; /* whose token is being looked up */
	unsigned open;
};

/* One request. */
struct claim_ask {
	struct http_sink base;
	struct e2b_claim *owner;
	struct loop_timer late;
	struct buf body;
	char *token;
	struct claim_request claim; /* borrows from body */
	struct e2b_query *query;
	bool decided;
	struct err e; /* without a reason: it is claimed */
};

struct e2b_claim *e2b_claim_new(struct loop *loop, const char *metadata_url,
				struct claim_desk *desk)
{
	struct e2b_claim *k = new0(struct e2b_claim);
	struct err e;

	k->loop = loop;
	k->desk = desk;
	(void)e2b_place_parse(metadata_url, &k->place, &e);
	return k;
}

struct e2b_claim *e2b_claim_free(struct e2b_claim *k)
{
	free(k);
	return NULL;
}

/* --- the answer ------------------------------------------------------------------------------------------- */

static const struct {
	const char *reason;
	int status;
	const char *retry_after; /* seconds; NULL: not by waiting */
} answers[] = {
	{ "CLAIM_NOT_VERIFIED", 403, NULL },
	{ "ALREADY_CLAIMED", 409, NULL },
	{ "BODY_TIMEOUT", 408, NULL },
	{ "BODY_TOO_LARGE", 413, NULL },
	{ "CONTENT_TYPE_UNSUPPORTED", 415, NULL },
	{ "CLAIM_TOO_OFTEN", 429, "6" },
	{ "METADATA_UNAVAILABLE", 503, "1" },
	{ "CLAIM_BUSY", 503, "1" },
	{ "SHUTTING_DOWN", 503, NULL },
};

static void e2b_claim_reply_refused(struct e2b_claim *k, const struct err *e,
				    struct http_reply *ret)
{
	/* what is in none of the rows is wrong with the claim, or with us */
	int status = e->rpc == RPC_INVALID_PARAMS ? 400 : 500;
	const char *retry_after = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
		if (strcmp(answers[i].reason, e->reason) == 0) {
			status = answers[i].status;
			retry_after = answers[i].retry_after;
		}
	http_reply_error(ret, status, e->reason, e->msg);
	if (retry_after)
		http_reply_header(ret, "Retry-After:", retry_after);
	if (!bucket_take(&k->lines, clock_mono_ms(), LOG_BURST, LOG_EACH_MS))
		return;
	log_warn("net", "claim refused", "by", "E2B's access token", "reason", e->reason, "text",
		 e->msg, "leftOut", NUMBER_TEXT(bucket_left_out(&k->lines)));
}

/* --- the decision ----------------------------------------------------------------------------------------- */

static int not_verified(struct err *e, const char *why)
{
	return err_set(e, -EACCES, RPC_INVALID_REQUEST, "CLAIM_NOT_VERIFIED", "%s", why);
}

/* While a restore is under way, one of the two may still be of the sandbox before: whose token it is is not known then, and
 * a claim would be dropped with that sandbox. */
static int check_instance(const struct e2b_metadata *m, struct err *e)
{
	const char *id = sandbox_id_in_file();

	return !id || strcmp(id, m->instance) == 0 ?
		       0 :
		       err_set(e, -EAGAIN, RPC_INTERNAL_ERROR, "METADATA_UNAVAILABLE",
			       "the metadata service and --sandbox-id-file name two sandboxes");
}

static int e2b_claim_check_token(const struct claim_ask *a, const struct e2b_metadata *m,
				 struct err *e)
{
	struct sha512 given, nothing;

	if (sha512_of(slice_of(a->token), &given) < 0 || sha512_of(SLICE_NONE, &nothing) < 0)
		return err_set(e, -EIO, RPC_INTERNAL_ERROR, "INTERNAL", "no digest can be made");
	if (sha512_equal(&nothing, &m->token_hash))
		return not_verified(e, "this sandbox has no access token: it was made insecure");
	if (!sha512_equal(&given, &m->token_hash))
		return not_verified(e, "X-Access-Token: not the access token of this sandbox");
	/* After the token: a client without it does not learn whether the id is right. */
	if (a->claim.sandbox_id && strcmp(a->claim.sandbox_id, m->instance) != 0)
		return not_verified(e, "sandboxId: the metadata service names another");
	return 0;
}

/* Repeated, a claim says no more than it did. */
static int take_claim(struct claim_ask *a, const struct e2b_metadata *m, struct err *e)
{
	struct claim_desk *desk = a->owner->desk;

	if (!a->claim.sandbox_id && claim_desk_open(desk))
		a->claim.sandbox_id = xstrdup(m->instance);
	return claim_desk_take(desk, &a->claim, "E2B's access token", e);
}

static void e2b_claim_judge(struct claim_ask *a, const struct e2b_metadata *m)
{
	if (check_instance(m, &a->e) < 0)
		return;
	/* Only a refused token is a guess, and uses the bucket. A claim that fails later is not. */
	if (e2b_claim_check_token(a, m, &a->e) == 0)
		(void)take_claim(a, m, &a->e);
	else
		bucket_take(&a->owner->refused, clock_mono_ms(), CLAIM_REFUSED_MAX,
			    CLAIM_REFUSED_EACH_MS);
}

static void on_metadata(void *ctx, const struct e2b_metadata *m, const struct err *e)
{
	struct claim_ask *a = ctx;

	if (m)
		e2b_claim_judge(a, m);
	else
		a->e = *e;
	a->query = e2b_query_close(a->query);
	a->owner->asking = NULL;
	a->decided = true;
	http_sink_wake(&a->base);
}

/* --- the request ------------------------------------------------------------------------------------------ */

static int e2b_claim_check_room(const struct e2b_claim *k, struct err *e)
{
	if (bucket_is_used_up(&k->refused, clock_mono_ms(), CLAIM_REFUSED_MAX,
			      CLAIM_REFUSED_EACH_MS))
		return err_set(e, -EAGAIN, RPC_INVALID_REQUEST, "CLAIM_TOO_OFTEN",
			       "too many claims were refused lately");
	if (k->asking || k->open >= CLAIM_OPEN_MAX)
		return err_set(e, -EBUSY, RPC_INVALID_REQUEST, "CLAIM_BUSY",
			       "another claim is being verified");
	return 0;
}

static int parse_body(struct claim_ask *a, struct err *e)
{
	struct jval v;

	if (jscan_value(buf_slice(&a->body), &v) != JSCAN_OK || v.type != J_OBJECT)
		return err_field(e, "", "BODY_INVALID", "the body is no JSON object");
	return claim_request_parse(v.raw, &a->claim, e);
}

static enum http_take e2b_claim_decide(struct claim_ask *a)
{
	a->decided = true;
	loop_timer_cancel(&a->late);
	return HTTP_TAKE_ANSWER;
}

static enum http_take claim_ask_take(struct http_sink *base, struct slice piece)
{
	struct claim_ask *a = container_of(base, struct claim_ask, base);

	if (buf_add_slice(&a->body, piece) == 0)
		return HTTP_TAKE_MORE;
	err_set(&a->e, -E2BIG, RPC_INVALID_PARAMS, "BODY_TOO_LARGE", "the body is too large");
	return e2b_claim_decide(a);
}

static enum http_take claim_ask_end(struct http_sink *base)
{
	struct claim_ask *a = container_of(base, struct claim_ask, base);
	struct e2b_claim *k = a->owner;

	/* Again: other requests can have used the capacity while this body arrived. */
	if (parse_body(a, &a->e) < 0 || e2b_claim_check_room(k, &a->e) < 0)
		return e2b_claim_decide(a);
	loop_timer_cancel(&a->late);
	k->asking = a;
	a->query = e2b_query_open(k->loop, &k->place, on_metadata, a);
	return HTTP_TAKE_WAIT;
}

static enum http_take ask_check(struct http_sink *base)
{
	struct claim_ask *a = container_of(base, struct claim_ask, base);

	return a->decided ? HTTP_TAKE_ANSWER : a->query ? HTTP_TAKE_WAIT : HTTP_TAKE_MORE;
}

static void claim_ask_answer(struct http_sink *base, struct http_reply *ret)
{
	struct claim_ask *a = container_of(base, struct claim_ask, base);

	if (*a->e.reason)
		e2b_claim_reply_refused(a->owner, &a->e, ret);
	else
		buf_puts(&ret->body, "{}");
}

static void claim_ask_free(struct http_sink *base)
{
	struct claim_ask *a = container_of(base, struct claim_ask, base);

	if (a->owner->asking == a)
		a->owner->asking = NULL;
	a->owner->open--;
	e2b_query_close(a->query);
	loop_timer_cancel(&a->late);
	claim_request_done(&a->claim);
	buf_done(&a->body);
	secret_text_wipe(a->token);
	free_each(a->token, a);
}

static void on_body_late(void *ctx)
{
	struct claim_ask *a = ctx;

	err_set(&a->e, -ETIMEDOUT, RPC_INVALID_REQUEST, "BODY_TIMEOUT",
		"the body did not come in time");
	(void)e2b_claim_decide(a);
	http_sink_wake(&a->base);
}

static int e2b_claim_check_head(const struct http_request *rq, struct err *e)
{
	if (!route_accepts(rq->content_type, "application/json") ||
	    memchr(rq->content_type.p, ',', rq->content_type.n))
		return err_field(e, "Content-Type", "CONTENT_TYPE_UNSUPPORTED",
				 "Content-Type must be application/json");
	if (!rq->access_token.n)
		return not_verified(e, "X-Access-Token: it is missing or empty");
	return 0;
}

void e2b_claim_ask(void *ctx, const struct http_request *rq, struct http_reply *ret)
{
	static const struct http_sink_ops ops = { claim_ask_take, claim_ask_end, ask_check,
						  claim_ask_answer, claim_ask_free };
	struct e2b_claim *k = ctx;
	struct claim_ask *a;
	struct err e = { 0 };

	if (e2b_claim_check_head(rq, &e) < 0 || e2b_claim_check_room(k, &e) < 0) {
		e2b_claim_reply_refused(k, &e, ret);
		return;
	}
	a = new0(struct claim_ask);
	a->base.ops = &ops;
	a->owner = k;
	a->body.max = CLAIM_BODY_MAX;
	a->token = xstrndup(rq->access_token.p, rq->access_token.n);
	k->open++;
	/* Any client can call this route: a slow body must not hold one of its few places. */
	loop_timer_set(k->loop, &a->late, CLAIM_BODY_MS, on_body_late, a);
	ret->sink = &a->base;
}
