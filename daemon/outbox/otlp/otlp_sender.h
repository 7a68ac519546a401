/*
 * otlp_sender.h - one signal on its way to a receiver: what waits, batches of it, one request at a time by acpd-fetch.
 *
 * What is added waits in memory, bounded by number and bytes; when it is full, new records are dropped and counted. A batch
 * goes when it is full or its delay is over. A receiver that is down, hangs, or says 429, 502, 503 or 504 gets the same batch
 * again, later each time, or when its Retry-After says; any other refusal ends the batch: its records count as dropped. So
 * do those that a receiver says it has rejected of a batch. Nobody waits for any of this.
 */
#pragma once

#include "fetcher/fetcher.h"
#include "loop/loop.h"
#include "outbox/otlp/otlp_config.h"

struct otlp_sender;

struct otlp_counts {
	uint64_t sent, failed, dropped, rejected; /* records, but failed: requests */
	uint64_t waiting, bytes;
};

struct otlp_sender_config {
	struct loop *loop;
	struct fetcher *fetcher;
	enum otlp_signal signal;
	const struct otlp_target *to; /* borrowed */
	/* A body made of records of the signal. */
	void (*wrap)(void *ctx, enum otlp_signal s, const struct slice *records, size_t n,
		     struct buf *body);
	void *ctx;
};

struct otlp_sender *otlp_sender_new(const struct otlp_sender_config *cfg);
struct otlp_sender *otlp_sender_free(struct otlp_sender *s);
/* A record as otlp_writer made it. */
void otlp_sender_add(struct otlp_sender *s, struct slice record);
/* What was too large or could not be made. */
void otlp_sender_lose(struct otlp_sender *s);
/* Nothing is sent while held. */
void otlp_sender_hold(struct otlp_sender *s, bool held);
/* What waits goes now, without its delay. */
void otlp_sender_flush(struct otlp_sender *s);
/* All that waits is dropped. */
void otlp_sender_clear(struct otlp_sender *s);
/* Something could be sent just now. */
bool otlp_sender_busy(const struct otlp_sender *s);
void otlp_sender_count(const struct otlp_sender *s, struct otlp_counts *ret);
