/*
 * proxy.h - the parts of acpd-proxy: the frames of the daemon (proxy_server.c), the listener of a session (proxy_door.c), a
 * connection of its clients (proxy_conn.c) with the look-up of its host (name_lookup.c), and what then passes
 * (proxy_pass.c, proxy_relay.c, answer_pass.c).
 */
#pragma once

#include "base/http/http_message.h"
#include "base/net/address_rules.h"
#include "egress/wire/egress_frame.h"
#include "egress/wire/host_set.h"
#include "loop/acceptor.h"
#include "loop/dial.h"
#include "proxy/proxy_request.h"
#include "proxy/tls_hello.h"
#include "service/service.h"

#include <netinet/in.h>

/* --- what all doors and connections share ---------------------------------------------------------------------- */

struct proxy_world {
	struct loop *loop;
	struct frame_channel *channel;
	struct egress_settings settings;
	int owners; /* base/net/sock_owner.h; <0: there is none */
	unsigned nconns;
};

extern const service_frame_fn proxy_server_takes[EGRESS_FRAME_MAX];
/* owners: of base/net/sock_owner.h, or negative. */
struct proxy_server *proxy_server_new(struct service_run *run, int owners);
void proxy_server_free(void *server);

/* Returns true if a head of which so many bytes were there before may be complete now, or is too large. One that arrives in
 * many pieces is searched for its end once. */
static inline bool proxy_head_may_end(struct slice in, size_t before, size_t max)
{
	size_t from = before > 3 ? before - 3 : 0;

	return in.n >= max || memmem(in.p + from, in.n - from, "\r\n\r\n", 4);
}

/* --- name_lookup.c: the addresses of one name, by c-ares on our loop: nothing here waits, and no thread does.
 *
 * Each look-up has a channel of its own. It so reads resolv.conf as it is now, has ports of its own, and ends with its
 * owner. Search domains are not tried: what is connected to has to be the name that the rules have passed. */

struct name_lookup;

struct name_answer {
	enum egress_reason why;				  /* EGRESS_FINE: there is one at least */
	struct sockaddr_storage at[EGRESS_ADDRESSES_MAX]; /* those of IPv4 first */
	unsigned n;
};

/* resolvers: ADDRESS[:PORT],... or NULL. done is called once, from the loop. */
struct name_lookup *name_lookup_new(struct loop *loop, const char *name, const char *resolvers,
				    void (*done)(void *ctx, const struct name_answer *a),
				    void *ctx);
/* Nothing is called any more, and no descriptor is left. Legal again, and with NULL. */
void name_lookup_stop(struct name_lookup *l);
/* Not in a turn of the loop in which it could be called. */
struct name_lookup *name_lookup_free(struct name_lookup *l);

/* --- proxy_relay.c: carries bytes between a client and a server, both ways, until both have ended.
 *
 * What one side sends is read in pieces of EGRESS_PIECE, one in a turn of the loop, and written at once. What the other
 * side does not take is kept, and nothing more is read meanwhile: a slow reader slows its writer, and costs one piece.
 * An end of one side goes on to the other, which may still send (half-close). Bytes are copied through one buffer of the
 * process, so a relay that is idle has none.
 *
 * A way may have a function that everything passes first: it decides what goes on, and may take itself away. A way that
 * is paused is not read.
 *
 * Embedded. over is called once, from the loop: 0 if both have ended, or what went wrong; the owner then closes it. */

struct proxy_relay;

/* in.p NULL: its side has ended. What goes on is appended to `to`. <0: it ends the relay. */
typedef int relay_pass(void *ctx, struct slice in, struct buf *to);

struct relay_way {
	struct proxy_relay *relay;
	struct loop_io *from, *to;
	struct buf held; /* that `to` has not taken */
	relay_pass *pass;
	bool paused, eof, shut;
	uint64_t read, sent; /* bytes */
};

struct proxy_relay {
	struct loop *loop;
	struct loop_io client, server;
	struct relay_way up, down;
	bool ended;
	void (*over)(void *ctx, int r);
	void *ctx;
};

/* Owns both sockets. Nothing happens before relay_run. */
void relay_init(struct proxy_relay *r, struct loop *loop, int client, int server,
		void (*over)(void *ctx, int r), void *ctx);
/* As if it had been read there: it goes through pass. */
int relay_feed(struct relay_way *w, struct slice bytes);
/* What we say ourselves. */
int relay_put(struct relay_way *w, struct slice bytes);
/* Carries what can be carried now, and waits for the rest; after each change of pass and paused from outside. */
void relay_run(struct proxy_relay *r);
/* Closes both. Legal again, and of all zeros. */
void relay_close(struct proxy_relay *r);
/* The client's socket, which is the caller's then; the server's is closed. */
int relay_take_client(struct proxy_relay *r);

/* --- answer_pass.c: an answer as it passes to the client: its head without what belongs to the connection to the server,
 * and with "Connection: close", then all bytes as they come. Pure.
 *
 * Nothing is read from the client behind its request, and the connection ends with the answer: at the end of its body,
 * where that can be told, for there are clients that would use the connection again until they see its end (Bun, after an
 * answer that is not 2xx). Else it ends when the server's does. What a server writes is not judged but for being a head:
 * a body that is broken passes as it is. Answers 1xx pass as they are. After 101 the connection is another protocol's.
 * All zeros is right to begin with. */

struct answer_pass {
	struct buf head;
	struct message_body body;
	bool to_head;	 /* the request was HEAD */
	bool over;	 /* the final head has passed */
	bool whole;	 /* and so has the body */
	bool switched;	 /* it was 101 */
	bool may_switch; /* the request asked for it */
};

/* Appends to `to` what the client gets. -EPROTO: the server does not speak HTTP. */
int answer_pass_feed(struct answer_pass *a, struct slice in, struct buf *to);
/* Nobody but the server knows where the answer ends. */
bool answer_pass_is_open(const struct answer_pass *a);
void answer_pass_done(struct answer_pass *a);

/* --- proxy_door.c: the listener of one session: who may come in, which rules hold, what is told to the daemon.
 *
 * A door is told once of each host that it is blocked, asks once for each host, and sums up bytes by host. All of that
 * is bounded: an agent can name as many hosts as it likes.
 *
 * With new rules every connection is judged anew, at once. Connections belong to their door. */

/* What went to and from one host, and was not reported yet. */
struct host_use {
	char *host; /* NULL: all others */
	uint64_t up, down;
};

struct proxy_door {
	struct list link; /* in the server's */
	struct proxy_world *world;
	uint32_t number;
	struct acceptor acceptor;
	struct sockaddr_in at;
	int64_t uid; /* who may come; -1: anybody */
	struct egress_rules *rules;
	struct list conns; /* struct proxy_conn, oldest first */
	unsigned nconns;
	struct host_set told;
	struct host_questions questions;
	struct host_use uses[EGRESS_HOSTS_TOLD + 1]; /* the last: all others */
	unsigned nuses;
	struct loop_timer timer;
	struct loop_task task;
};

/* Owns fd and order's rules. NULL: fd does not listen. */
struct proxy_door *proxy_door_open(struct proxy_world *w, uint32_t number, int fd,
				   struct egress_order *order);
/* Ends all that came through it. It is freed from the loop. */
void proxy_door_shut(struct proxy_door *d);
/* Owns the rules. */
void proxy_door_set_rules(struct proxy_door *d, struct egress_rules *rules);
/* The answer to a question is no. */
void proxy_door_deny(struct proxy_door *d, const char *host, enum egress_reason why);

/* For connections: */

/* EGRESS_FINE: the question is open, and its answer comes by proxy_conn_judge or proxy_conn_refuse. */
enum egress_reason proxy_door_ask(struct proxy_door *d, const char *host, int port);
void proxy_door_blocked(struct proxy_door *d, const char *host, int port, enum egress_reason why);
/* Where bytes to and from this host are counted. */
struct host_use *proxy_door_use(struct proxy_door *d, const char *host);

/* --- proxy_conn.c: one connection of a client, from its first byte to its end: its request, the look-up of its host, the
 * connection to it, and what then passes. --------------------------------------------------------------------- */

/* A connection:
 *
 *	HEAD     its request comes
 *	ASKING   somebody is asked whether its host is allowed
 *	LOOKUP   the host's addresses are looked up
 *	DIALING  one of them is connected to
 *	OPEN     bytes pass (proxy_relay.c)
 *	LINGER   it was refused; what it still sends is dropped for a moment, so that it reads why
 *	ENDED    it is freed by the loop
 *
 * A tunnel to a port of TLS passes nothing before its ClientHello has named the host. */
enum conn_state {
	CONN_HEAD,
	CONN_ASKING,
	CONN_LOOKUP,
	CONN_DIALING,
	CONN_OPEN,
	CONN_LINGER,
	CONN_ENDED,
};

struct proxy_conn {
	struct list link; /* in its door's */
	struct proxy_door *door;
	enum conn_state state;
	bool stranger;
	struct loop_io io; /* the client, until the relay has it */
	struct loop_timer timer;
	struct loop_task task;
	struct buf in; /* its request and what came behind it; later what came of its hello */
	size_t head;   /* bytes of the request */
	struct proxy_request request; /* borrows from in */
	bool plain;		      /* what is not TLS may pass the tunnel */
	enum call_reach reach;	      /* which addresses of its host may be called */
	struct name_lookup *lookup;
	struct name_answer found;
	struct dial dial;
	/* once it is open */
	struct proxy_relay relay;
	struct tls_hello hello;
	struct answer_pass answer;
	struct message_body body;
	bool clear;		/* what passes is not TLS */
	enum egress_reason why; /* it ends */
	struct host_use *use;
	uint64_t counted_up, counted_down, seen;
	unsigned quiet; /* times in a row that nothing had passed */
};

void proxy_conn_new(struct proxy_door *d, int fd, bool stranger);
/* Says that there is no room, and closes it. */
void proxy_conn_turn_away(int fd);
/* Closes all of it now; it is freed from the loop. Legal again. */
void proxy_conn_end(struct proxy_conn *c);
/* The rules are others: it goes on, waits for an answer, or ends. */
void proxy_conn_judge(struct proxy_conn *c);
/* Whoever was asked for this host said no. */
void proxy_conn_denied(struct proxy_conn *c, const char *host, enum egress_reason why);
bool proxy_conn_is_silent(const struct proxy_conn *c);
/* What has passed goes to its account. */
void proxy_conn_count(struct proxy_conn *c);

/* For proxy_pass.c: answers with the reason, and lingers. The client's socket is c->io. */
void proxy_conn_refuse(struct proxy_conn *c, enum egress_reason why);

/* proxy_pass.c: it is connected; bytes pass from now on. server is taken. */
void proxy_pass_open(struct proxy_conn *c, int server);
