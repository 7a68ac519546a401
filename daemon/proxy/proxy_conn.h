/*
 * proxy_conn.h - one connection of a client, from its first byte to its end: its request, the look-up of its host, the
 * connection to it, and what then passes.
 *
 *	HEAD     its request comes
 *	ASKING   somebody is asked whether its host is allowed
 *	LOOKUP   the host's addresses are looked up
 *	DIALING  one of them is connected to
 *	OPEN     bytes pass (proxy_relay.h)
 *	LINGER   it was refused; what it still sends is dropped for a moment, so that it reads why
 *	ENDED    it is freed by the loop
 *
 * A tunnel to a port of TLS passes nothing before its ClientHello has named the host.
 */
#pragma once

#include "base/http/http_body.h"
#include "base/net/address_rules.h"
#include "proxy/answer_pass.h"
#include "proxy/dial.h"
#include "proxy/proxy_door.h"
#include "proxy/proxy_request.h"
#include "proxy/proxy_relay.h"
#include "proxy/tls_hello.h"

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
