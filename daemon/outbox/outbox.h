/*
 * outbox.h - webhooks: what happens in the daemon is told to receivers elsewhere, at least once, signed.
 *
 * outbox_event never fails and never waits: the event is numbered and spooled for each receiver that wants its type, written
 * to disk at the end of the turn of the loop, and sent by acpd-fetch from there (receiver.h). One message has one id, however
 * often it is sent, also by a daemon that follows on the same state directory.
 *
 * Receivers are named by a file or by a claim (webhook_list.h). Their addresses and secrets are in memory alone; what is on
 * disk is found again by the id or, without one, by the address. A daemon that starts has the spools of the one before,
 * adds to them, and sends nothing until it is told who they are for.
 *
 * What waits belongs to the sandbox that it happened in: a copy drops what it has of it (outbox_forget), and so does a daemon
 * that finds a spool of another sandbox. The one that goes on sends it.
 *
 * Everything is on the loop.
 */
#pragma once

#include "base/err.h"
#include "base/format/retention.h"
#include "outbox/receiver.h"
#include "outbox/webhook_list.h"

struct outbox;
struct otlp_config;
struct telemetry;
struct jw;

struct outbox_config {
	struct loop *loop;
	struct fetcher *fetcher;
	const char *state;	       /* directory; the spools are in outbox/ */
	struct retention keep;	       /* of each receiver; what is 0 has the default */
	struct otlp_config *telemetry; /* taken over; or NULL: none */
};

/* Opens the spools that are there. A spool that cannot be opened is logged and left alone. */
struct outbox *outbox_new(const struct outbox_config *cfg);
struct outbox *outbox_free(struct outbox *o);

/* --- what happens ----------------------------------------------------------------------------------------------- */

/* session: its id. data: a raw JSON object, or empty: what is known besides sessionId, incarnation and sandboxId, which are
 * added. It is sent as it is: no secrets, and no more text of others than is needed. Above WEBHOOK_DATA_MAX it is left out.
 * key: for an event that can be found and reported again after a kill, which of its kind in that session it is: its message
 * has the same id then; NULL: it cannot. o may be NULL. */
void outbox_event_once(struct outbox *o, enum webhook_type type, const char *session,
		       const char *key, struct slice data);
/* Is there anybody who wants to know? */
bool outbox_wants(const struct outbox *o, enum webhook_type type);
/* What was added is on disk after, if that can be written; for what has to be there before something else is. */
void outbox_flush(struct outbox *o);

/* --- whom it is told -------------------------------------------------------------------------------------------- */

/* These are all receivers from now on, taken over; the spools of others go. FETCH_UNAVAILABLE: acpd-fetch is not installed. */
int outbox_check(const struct webhook_list *l, struct err *e);
void outbox_set(struct outbox *o, struct webhook_list *l);
void outbox_limit(struct outbox *o, const struct retention *keep);
/* What happens from now on is this one's. */
void outbox_begin(struct outbox *o, const char *incarnation);
/* The daemon is claimed, so it is known which sandbox this is: spools of another one go. */
void outbox_claimed(struct outbox *o);
/* Another sandbox: addresses, secrets and all that waits are gone. */
void outbox_forget(struct outbox *o);
/* While held nothing new is sent. When let go, all that waits may try. */
void outbox_hold(struct outbox *o, bool held);

/* --- what is known of it ---------------------------------------------------------------------------------------- */

/* Something could be sent just now: worth a moment before the daemon ends. */
bool outbox_busy(const struct outbox *o);
/* Member "webhooks": an array, a member for each receiver. */
void outbox_put_status(const struct outbox *o, struct jw *w);
void outbox_totals(const struct outbox *o, struct receiver_totals *ret);

/* Spans, metrics and log of the same sandbox (otlp/telemetry.h): it begins, is forgotten and held with the webhooks. NULL: none.
 * o may be NULL. */
struct telemetry *outbox_telemetry(const struct outbox *o);
/* The daemon ends: what can go goes now. */
void outbox_drain(struct outbox *o);
