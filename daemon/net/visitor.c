/*
 * visitor.c - TCP connections by class (unauthenticated, known, busy): limits, eviction, resets.
 *
 * Each class has a list in order of age, so the connection to evict is the first of the list. lws
 * can destroy a connection while it adopts it, so the visitor is allocated before; `gone` reports
 * that. A connection is never closed inside a call: it is shut down and gets an asynchronous
 * timeout, and WSI_DESTROY frees the visitor. A quarter of the connections is reserved for the
 * claim's token.
 */
#include "net/ws.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "net/tcp_listen.h"

#include <netinet/in.h>
#include <sys/socket.h>

/* --- what clients without a token get ---------------------------------------------------------------------------- */

/* Of IPv6 the network: a host has all addresses of a /64. */
static struct slice open_budget_address(const struct sockaddr_storage *peer)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)peer;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)peer;

	if (peer->ss_family == AF_INET)
		return (struct slice){ (const char *)&v4->sin_addr, sizeof(v4->sin_addr) };
	if (peer->ss_family != AF_INET6)
		return SLICE_NONE;
	if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
		return (struct slice){ (const char *)&v6->sin6_addr.s6_addr[12], 4 };
	return (struct slice){ (const char *)&v6->sin6_addr, 8 };
}

/* Addresses with the same hash share a bucket. The table has a fixed size, so many addresses cannot fill
 * memory. */
static struct bucket *open_budget_bucket(struct open_budget *b, struct slice address)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (size_t i = 0; i < address.n; i++)
		h = (h ^ (uint8_t)address.p[i]) * 16777619u;
	return &b->peers[h % OPEN_PEERS];
}

bool open_budget_take(struct open_budget *b, const struct sockaddr_storage *peer, uint64_t now,
		      uint64_t bytes)
{
	unsigned n = (unsigned)MIN(bytes / OPEN_UNIT, (uint64_t)OPEN_BURST);

	/* The peer's bucket has half the rate and half the size of the common one: one address cannot use up
	 * all. It is asked first, since what it refuses must not cost the common budget. */
	return bucket_take_n(open_budget_bucket(b, open_budget_address(peer)), now, OPEN_BURST / 2,
			     OPEN_UNIT_MS * 2, n) &&
	       bucket_take_n(&b->all, now, OPEN_BURST, OPEN_UNIT_MS, n);
}

/* --- connections ------------------------------------------------------------------------------------------------ */

struct visitor *visitor_of(struct lws *wsi)
{
	return lws_get_opaque_user_data(wsi);
}

static void visitor_leave_list(struct net_server *n, struct visitor *v)
{
	n->unauthenticated -= v->state == VISITOR_UNAUTHENTICATED;
	n->authenticated -= v->state == VISITOR_AUTHENTICATED;
	list_del(&v->link);
}

/* The only place where v->state changes. */
static void visitor_set_state(struct net_server *n, struct visitor *v, enum visitor_state state)
{
	visitor_leave_list(n, v);
	v->state = state;
	n->unauthenticated += state == VISITOR_UNAUTHENTICATED;
	n->authenticated += state == VISITOR_AUTHENTICATED;
	if (state == VISITOR_UNAUTHENTICATED)
		list_add_tail(&n->unauthenticated_list, &v->link);
	else if (state == VISITOR_AUTHENTICATED)
		list_add_tail(&n->authenticated_list, &v->link);
	else
		list_add_tail(&n->other_list, &v->link);
}

/* lws may forget the timeout when a request of it is on the way; it always notices the end of the input. */
static void send_away(struct net_server *n, struct visitor *v)
{
	visitor_refused(n, v->wsi, 0, "CROWDED_OUT");
	visitor_set_state(n, v, VISITOR_LEAVING);
	shutdown(lws_get_socket_fd(v->wsi), SHUT_RDWR);
	socket_set_timeout(v->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
}

/* Called when the new connection is in its list, at the tail: the oldest is evicted, never the new one. */
static void visitor_make_room(struct net_server *n)
{
	if (n->unauthenticated > STRANGERS_MAX)
		send_away(n, list_first(&n->unauthenticated_list, struct visitor, link));
	if (n->authenticated > KNOWN_MAX)
		send_away(n, list_first(&n->authenticated_list, struct visitor, link));
}

void visitor_adopt(struct net_server *n, int fd, bool local)
{
	struct visitor *v = new0(struct visitor);
	lws_adopt_desc_t d = { .vh = n->vhost,
			       .type = LWS_ADOPT_SOCKET | LWS_ADOPT_HTTP,
			       .fd = { .sockfd = fd },
			       .opaque = v };
	bool gone = false;

	/* In a list before lws has it: visitor_leave unlinks it if lws destroys the connection within the call. */
	list_add_tail(&n->other_list, &v->link);
	v->state = VISITOR_LEAVING;
	v->is_local = local;
	v->gone = &gone;
	v->wsi = lws_adopt_descriptor_vhost_via_info(&d);
	if (gone)
		return; /* destroyed again, and v with it */
	v->gone = NULL;
	if (!v->wsi) {
		free(v);
		return;
	}
	/* Without a watch no event of the socket would be reported, and the connection would hang. */
	if (socket_watch_begin(n, v->wsi, &v->watch) < 0)
		socket_set_timeout(v->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
	visitor_set_state(n, v, VISITOR_UNAUTHENTICATED);
	visitor_make_room(n);
}

void visitor_arrive(void *server, int fd)
{
	listen_tune(fd);
	visitor_adopt(server, fd, false);
}

/* It is closed, whatever it is doing: nothing that its token had asked for goes on. */
static void on_visitor_cut(void *ctx, const char *why)
{
	struct visitor *v = ctx;
	struct peer *p = lws_wsi_user(v->wsi);

	if (p && p->conn) {
		acp_conn_cut(p->conn, why);
		socket_set_timeout(v->wsi, PENDING_TIMEOUT_USER_OK, CUT_GRACE_SECS);
		return;
	}
	v->is_cut = true;
	log_info("net", "connection cut", "reason", why, "token", grant_id(v->hold.grant));
	if (p)
		http_closed(p);
	shutdown(lws_get_socket_fd(v->wsi), SHUT_RDWR);
	socket_set_timeout(v->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
}

void visitor_unknown(struct lws *wsi)
{
	grant_let_go(&visitor_of(wsi)->hold);
}

const struct grant *visitor_grant(struct lws *wsi)
{
	return visitor_of(wsi)->hold.grant;
}

void visitor_known(struct net_server *n, struct lws *wsi, const struct grant *g)
{
	struct visitor *v = visitor_of(wsi);

	grant_keep(&v->hold, g, on_visitor_cut, v);
	/* A busy connection is not evicted; visitor_busy puts it back among the known ones. */
	if (v->state == VISITOR_BUSY)
		return;
	visitor_set_state(n, v, VISITOR_AUTHENTICATED);
	visitor_make_room(n);
}

/* By a minted token. */
static bool is_lent(const struct grant *g)
{
	return g && grant_minted(g);
}

bool visitor_afford(struct net_server *n, struct lws *wsi, uint64_t size, bool *last)
{
	struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
	struct visitor *v = visitor_of(wsi);
	socklen_t len = sizeof(from);

	if (v->state != VISITOR_UNAUTHENTICATED)
		return true;
	/* A peer over a UNIX socket has no address: all of them share one bucket. */
	(void)getpeername(lws_get_socket_fd(wsi), (struct sockaddr *)&from, &len);
	if (!open_budget_take(&n->open_answers, &from, clock_mono_ms(), size)) {
		*last = true;
		return false;
	}
	v->open_bytes += size;
	*last |= ++v->open_answers >= OPEN_ANSWERS_MAX || v->open_bytes >= OPEN_BYTES_MAX;
	return true;
}

void visitor_busy(struct net_server *n, struct lws *wsi, bool busy)
{
	struct visitor *v = visitor_of(wsi);

	n->connections += busy ? 1 : -1U;
	if (is_lent(v->hold.grant)) {
		n->lent += busy ? 1 : -1U;
		grant_count(v->hold.grant, busy);
	}
	visitor_set_state(n, v, busy ? VISITOR_BUSY : VISITOR_AUTHENTICATED);
	visitor_make_room(n);
}

/* A quarter is kept for the token of the claim. */
bool visitor_crowds(const struct net_server *n, struct lws *wsi)
{
	const struct grant *g = visitor_grant(wsi);

	if (n->connections >= n->max_connections)
		return true;
	return is_lent(g) && (grant_connections(g) >= TOKEN_CONNECTIONS_MAX ||
			      n->lent >= n->max_connections - n->max_connections / 4);
}

void visitor_leave(struct net_server *n, struct lws *wsi)
{
	struct visitor *v = visitor_of(wsi);

	if (!v)
		return; /* of lws itself */
	socket_watch_end(&v->watch);
	visitor_leave_list(n, v);
	grant_let_go(&v->hold);
	lws_set_opaque_user_data(wsi, NULL);
	if (v->gone)
		*v->gone = true;
	free(v);
}

/* Dissolving its association sends a reset, and drops what either side has buffered. */
static void visitor_reset(struct visitor *v)
{
	static const struct sockaddr none = { .sa_family = AF_UNSPEC };

	if (v->gone)
		return;
	v->is_cut = true;
	if (v->is_local)
		shutdown(lws_get_socket_fd(v->wsi), SHUT_RDWR);
	else
		(void)connect(lws_get_socket_fd(v->wsi), &none, sizeof(none));
	socket_set_timeout(v->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
}

void visitors_reset(struct net_server *n, bool local)
{
	struct list *const lists[] = { &n->unauthenticated_list, &n->authenticated_list,
				       &n->other_list };

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		list_each(v, lists[i], struct visitor, link)
			if (local || !v->is_local)
				visitor_reset(v);
}

/* Of requests by HTTP only those with minted tokens: who has the claim's token asks often. */
void visitor_accepted(struct net_server *n, struct lws *wsi, enum door d)
{
	const struct grant *g = visitor_grant(wsi);

	tokens_note(n->http->tokens, d, g, true);
	if (d == DOOR_HTTP && (!grant_minted(g) || !bucket_take(&n->acceptances, clock_mono_ms(),
								LOG_BURST, LOG_EACH_MS)))
		return;
	log_info("net", d == DOOR_HTTP ? "request accepted" : "connection accepted", "connection",
		 visitor_of(wsi)->id, "over", door_word(d), "scope",
		 grant_scope_word(grant_scope(g)), "token", grant_id(g), "leftOut",
		 NUMBER_TEXT(d == DOOR_HTTP ? bucket_left_out(&n->acceptances) : 0));
}

static enum door door_of(struct lws *wsi)
{
	return lws_hdr_total_length(wsi, WSI_TOKEN_UPGRADE) > 0 ? DOOR_WEBSOCKET : DOOR_HTTP;
}

void visitor_refused(struct net_server *n, struct lws *wsi, int status, const char *reason)
{
	const struct visitor *v = visitor_of(wsi);
	const struct grant *g = v ? v->hold.grant : NULL;
	char from[48] = "";

	/* Before the limit of the log: the counter has each refusal, the log has a sample. */
	tokens_note(n->http->tokens, door_of(wsi), g, false);

	if (!bucket_take(&n->refusals, clock_mono_ms(), LOG_BURST, LOG_EACH_MS))
		return;
	lws_get_peer_simple(wsi, from, sizeof(from));
	log_info("net", "refused", "reason", reason, "status", NUMBER_TEXT(status), "from", from,
		 "connection", v ? v->id : "", "scope", g ? grant_scope_word(grant_scope(g)) : "",
		 "token", g ? grant_id(g) : "", "leftOut",
		 NUMBER_TEXT(bucket_left_out(&n->refusals)));
}
