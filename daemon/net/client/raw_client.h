/*
 * raw_client.h - streams of bytes to one address, in the clear or through TLS, and of connections that came: for the command
 * line where it passes on what it is given (cli/ui/). Nothing of HTTP is understood here.
 *
 * Not by libwebsockets, as the other clients are: version 4.1 of it begins TLS of a raw stream before there is a socket.
 * A name is looked up anew for each stream, and that blocks the loop. on_closed comes once, never from within
 * raw_client_dial, and nothing after it; after raw_stream_drop nothing comes any more.
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "loop/loop.h"

struct raw_client;
struct raw_stream;

struct raw_stream_events {
	void (*on_open)(void *ctx);
	void (*on_bytes)(void *ctx, struct slice bytes);
	void (*on_drained)(void *ctx); /* everything that was sent has gone */
	void (*on_closed)(void *ctx, bool opened, const char *why);
};

/* Borrows host. ca_file: as tls_client_new. NULL with e. */
struct raw_client *raw_client_new(struct loop *loop, const char *host, int port, bool tls,
				  const char *ca_file, struct err *e);
/* After its streams are dropped, and the loop has run its deferred tasks. */
struct raw_client *raw_client_free(struct raw_client *c);

struct raw_stream *raw_client_dial(struct raw_client *c, const struct raw_stream_events *ev,
				   void *ctx);
/* A stream that is open: fd, which is its own from now on, in the clear. on_open is not called. */
struct raw_stream *raw_stream_adopt(struct loop *loop, int fd, const struct raw_stream_events *ev,
				    void *ctx);
void raw_stream_send(struct raw_stream *s, struct slice bytes);
/* The other side sees that no more comes. Of a stream in the clear, of which everything has gone. */
void raw_stream_shut(struct raw_stream *s);
/* What was sent and has not gone. */
size_t raw_stream_pending(const struct raw_stream *s);
/* Nothing is read meanwhile, so that whoever sends it waits. */
void raw_stream_pause(struct raw_stream *s, bool pause);
/* Ends it, if it has not ended, and gives it away. NULL is allowed. */
void raw_stream_drop(struct raw_stream *s);
