/*
 * proxy_relay.h - carries bytes between a client and a server, both ways, until both have ended.
 *
 * What one side sends is read in pieces of EGRESS_PIECE, one in a turn of the loop, and written at once. What the other
 * side does not take is kept, and nothing more is read meanwhile: a slow reader slows its writer, and costs one piece.
 * An end of one side goes on to the other, which may still send (half-close). Bytes are copied through one buffer of the
 * process, so a relay that is idle has none.
 *
 * A way may have a function that everything passes first: it decides what goes on, and may take itself away. A way that
 * is paused is not read.
 *
 * Embedded. over is called once, from the loop: 0 if both have ended, or what went wrong; the owner then closes it.
 */
#pragma once

#include "base/buf.h"
#include "loop/loop.h"

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
