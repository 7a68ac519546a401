/*
 * network_proxy.c - the daemon's end of a session's HTTP proxy: socket, rules, questions about
 * hosts.
 *
 * The daemon binds the socket, in the session's network namespace if there is one: programs get its
 * address at their start. While the mode is "off" it is bound but not listening, so connections are
 * refused. open_door listens and passes it to acpd-proxy. A socket cannot stop listening, so from
 * then on only the rules change. The agent chooses the hosts: their names are masked, and the list
 * of them is bounded.
 */

#include "base/util.h"
#include "base/limits.h"
#include "base/os/local_sock.h"
#include "base/os/file.h"
#include "egress/egress.h"
#include "egress/wire/egress_host.h"
#include "json/json.h"
#include "session/core/harness/baseenv.h"
#include "session/parts/network/session_network.h"
#include "session/core/redact/redact_internal.h"
#include "session/parts/approval/own_questions.h"

#include <sys/socket.h>

#define CALL_ID_BYTES 16

/* --- events ---------------------------------------------------------------------------------------------------- */

/* host comes from the agent's side, and may be anything that it knows. */
static void on_blocked(void *ctx, const char *host, int port, enum egress_reason why)
{
	JW_BUF(w, b);
	_cleanup_(freep) char *shown = xstrdup(host);
	struct session *s = ctx;

	session_mask_string(s, &shown);
	jw_str(&w, "kind", "lifecycle");
	jw_str(&w, "event", "network_blocked");
	jw_str(&w, "host", shown);
	jw_int(&w, "port", port);
	jw_str(&w, "reason", egress_reasons[why].name);
	event_note(s, EVENT_LIFECYCLE, buf_slice(&b));
}

static struct host_traffic *traffic_of(struct session_network *n, const char *host)
{
	for (size_t i = 0; i < n->ntraffic; i++)
		if (strcmp(n->traffic[i].host, host) == 0)
			return &n->traffic[i];
	if (n->ntraffic > EGRESS_HOSTS_TOLD)
		return NULL; /* acpd-proxy tells of no more; who did would only want our memory */
	*GROW(n->traffic, n->ntraffic) = (struct host_traffic){ .host = xstrdup(host) };
	return &n->traffic[n->ntraffic - 1];
}

static void on_used(void *ctx, const char *host, uint64_t up, uint64_t down)
{
	struct session *s = ctx;
	struct host_traffic *t = traffic_of(network_of(s), host);

	if (!t)
		return;
	t->up += up;
	t->down += down;
}

void network_put_traffic(struct jw *w, const struct session *s)
{
	if (!network_of(s)->ntraffic)
		return;
	jw_arr(w, "traffic");
	for (size_t i = 0; i < network_of(s)->ntraffic; i++)
		jw_object(w, NULL, JW_STR("host", network_of(s)->traffic[i].host),
			  JW_UINT("up", network_of(s)->traffic[i].up),
			  JW_UINT("down", network_of(s)->traffic[i].down));
	jw_end_arr(w);
}

/* --- questions ------------------------------------------------------------------------------------------------- */

/* A host that the driver is asked for. */
struct network_ask {
	struct list link;
	struct session *session;
	char *host;
	int port;
};

static void ask_free(struct network_ask *a)
{
	list_del(&a->link);
	free_each(a->host, a);
}

/* It is one of the session's rules now, also for a daemon that is started anew. */
static void keep_host(struct session *s, const char *host, int port)
{
	struct egress_rules *more = egress_rules_with(session_rules(s), host, port, NULL);
	JW_BUF(w, text);

	if (!more)
		return;
	egress_rules_put(more, &w, NULL);
	egress_rules_free(more);
	setup_change(&s->setup, &network_parameter, (struct jval){ J_OBJECT, buf_slice(&text) });
	session_note_head(s);
}

static void on_answer(void *ctx, struct slice result)
{
	struct network_ask *a = ctx;
	struct session *s = a->session;
	bool yes = jstr_is(jobj_get(jobj_get(result, "outcome").raw, "optionId"), "allow");

	session_log(s, yes ? "host opened" : "host refused", "host", a->host, NULL);
	if (yes)
		keep_host(s, a->host, a->port);
	if (network_of(s)->door)
		egress_answer(network_of(s)->door, a->host, yes);
	ask_free(a);
}

static void put_option(struct jw *w, const char *id, const char *name, const char *kind)
{
	jw_object(w, NULL, JW_STR("optionId", id), JW_STR("name", name), JW_STR("kind", kind));
}

/* Of ACP's session/request_permission. */
static void network_put_question(struct jw *w, const struct network_ask *a)
{
	char id[sizeof("net_") + 2 * CALL_ID_BYTES] = "net_", title[EGRESS_HOST_SIZE + 32];

	random_hex(id + 4, CALL_ID_BYTES);
	snprintf(title, sizeof(title), "Connect to %s:%d", a->host, a->port);
	jw_obj(w, NULL);
	jw_object(w, "toolCall", JW_STR("toolCallId", id), JW_STR("title", title),
		  JW_STR("kind", "fetch"), JW_STR("status", "pending"),
		  JW_OBJ("rawInput", JW_STR("host", a->host), JW_INT("port", a->port)));
	jw_arr(w, "options");
	put_option(w, "allow", "Allow for this session", "allow_always");
	put_option(w, "reject", "Reject", "reject_once");
	jw_end_arr(w);
	jw_end_obj(w);
}

/* Where nobody can be asked, the answer is no. */
static void on_ask(void *ctx, const char *host, int port)
{
	JW_BUF(w, b);
	struct session *s = ctx;
	struct network_ask *a;

	if (!session_driver(s)) {
		egress_answer(network_of(s)->door, host, false);
		return;
	}
	a = new0(struct network_ask);
	*a = (struct network_ask){ .session = s, .host = xstrdup(host), .port = port };
	list_add_tail(&network_of(s)->asks, &a->link);
	network_put_question(&w, a);
	question_ask_own(s, buf_slice(&b), on_answer, a);
}

static void asks_drop(struct session *s)
{
	list_drain(a, &network_of(s)->asks, struct network_ask, link) {
		question_unask_own(s, a);
		ask_free(a);
	}
}

/* --- the door -------------------------------------------------------------------------------------------------- */

static const struct egress_ops door_ops = { on_blocked, on_ask, on_used };

static int proxy_address_failed(int r, struct err *e)
{
	return err_set(e, r, RPC_INTERNAL_ERROR, "NETWORK_PROXY_FAILED",
		       "no address for the session's proxy: %s", strerror(-r));
}

/* Bound, so that programs can be told where it is, and shut: who connects is refused. */
static int make_socket(struct session *s, struct err *e)
{
	struct session_network *n = network_of(s);
	int r = n->netns ? netns_socket(n->netns, AF_INET, SOCK_STREAM) : -1;

	if (n->netns && r < 0)
		return proxy_address_failed(r, e);
	r = loopback_bind(r, 0, &n->proxy);
	if (r < 0) {
		n->proxy.sin_family = 0;
		return proxy_address_failed(r, e);
	}
	n->socket = r;
	return 0;
}

static int open_door(struct session *s, struct err *e)
{
	struct session_network *n = network_of(s);
	struct egress_door_config c = { .one_user = !n->netns && s->user.switched,
					.uid = s->user.uid,
					.rules = session_rules(s) };

	if (listen(n->socket, SOMAXCONN) < 0)
		return proxy_address_failed(-errno, e);
	c.fd = n->socket;
	n->socket = 0;
	n->door = egress_open(s->store->egress, &c, &door_ops, s, e);
	return n->door ? 0 : -EIO;
}

/* A socket cannot stop listening: with the door its address goes, and programs have to be told another. */
int network_proxy_rules(struct session *s, struct err *e)
{
	struct session_network *n = network_of(s);
	bool off = egress_rules_mode(session_rules(s)) == EGRESS_OFF;

	if (n->door) {
		egress_set_rules(n->door, session_rules(s));
		asks_drop(s);
		return 0;
	}
	return off || !n->socket ? 0 : open_door(s, e);
}

int network_proxy_open(struct session *s, struct err *e)
{
	int r = network_of(s)->proxy.sin_family ? 0 : make_socket(s, e);

	return r == 0 ? network_proxy_rules(s, e) : r;
}

void network_proxy_close(struct session *s)
{
	struct session_network *n = network_of(s);

	asks_drop(s);
	n->door = egress_close(n->door);
	if (n->socket > 0)
		close(n->socket);
	n->socket = 0;
	n->proxy.sin_family = 0;
}

/* --- how programs find it ---------------------------------------------------------------------------------------- */

void session_network_env(const struct session *s, struct harness_plan *plan)
{
	if (network_of(s)->proxy.sin_family)
		baseenv_proxy(plan, &network_of(s)->proxy);
}
