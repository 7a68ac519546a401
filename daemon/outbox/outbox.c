/*
 * outbox.c - distributes events to the receivers of webhooks, and replaces the receivers.
 *
 * An event is encoded once and added to the spool of each receiver that wants its type. An event
 * with a key has an id that depends on type, session and key: a daemon that repeats it after a kill
 * sends the same id. Spools are found by a digest in the name of their directory, since addresses
 * and secrets are not on disk. A claim discards spools of another sandbox.
 */
#include "outbox/outbox.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/os/file.h"
#include "base/os/sandbox.h"
#include "digest/digest.h"
#include "json/jenc.h"
#include "outbox/otlp/telemetry.h"

#include <dirent.h>

#define EVENT_ID_SIZE 37

struct outbox {
	struct receiver_config cfg;
	char *dir, *incarnation;
	struct receiver *receivers[WEBHOOKS_MAX];
	size_t n;
	bool held, claimed;
	struct telemetry *telemetry;
	uint64_t dropped; /* with spools that are gone */
};

/* --- what happens ----------------------------------------------------------------------------------------- */

/* Of ids of ours: "evt_" and 32 hex digits. */
static void name_event(enum webhook_type type, const char *session, const char *key,
		       char ret[EVENT_ID_SIZE])
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct sha256 d = { { 0 } };

	if (!key) {
		memcpy(ret, "evt_", 4);
		random_hex(ret + 4, (EVENT_ID_SIZE - 5) / 2);
		return;
	}
	buf_printf(&b, "%s %s %s", webhook_types[type], session, key);
	(void)sha256_of(buf_slice(&b), &d);
	snprintf(ret, EVENT_ID_SIZE, "evt_%.32s", SHA256_HEX_OF(&d));
}

static void outbox_put_data(struct buf *b, const struct outbox *o, const char *session,
			    struct slice data)
{
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_str(&w, "sessionId", session);
	jw_str(&w, "incarnation", o->incarnation);
	jw_str(&w, "sandboxId", sandbox_id());
	/* The event is sent without them: a receiver can still read the session. */
	if (data.n > WEBHOOK_DATA_MAX)
		jw_bool(&w, "truncated", true);
	else if (data.n)
		jw_members(&w, data, "sessionId");
	jw_end_obj(&w);
}

/* Words that stand in a spool as they are. */
static bool outbox_is_word(const char *text)
{
	return *text && !strpbrk(text, "\"\\\n");
}

void outbox_event_once(struct outbox *o, enum webhook_type type, const char *session,
		       const char *key, struct slice data)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	char id[EVENT_ID_SIZE];
	struct spool_record r;

	if (!outbox_wants(o, type) || !outbox_is_word(session))
		return;
	name_event(type, session, key, id);
	outbox_put_data(&b, o, session, data);
	r = (struct spool_record){ .line = SPOOL_EVENT,
				   .time_ms = clock_real_ms(),
				   .type = slice_of(webhook_types[type]),
				   .session = slice_of(session),
				   .id = slice_of(id),
				   .data = buf_slice(&b) };
	for (size_t i = 0; i < o->n; i++)
		receiver_add(o->receivers[i], type, &r);
}

bool outbox_wants(const struct outbox *o, enum webhook_type type)
{
	for (size_t i = 0; o && i < o->n; i++)
		if (receiver_wants(o->receivers[i], type))
			return true;
	return false;
}

void outbox_flush(struct outbox *o)
{
	for (size_t i = 0; o && i < o->n; i++)
		receiver_flush(o->receivers[i]);
}

/* --- whom it is told -------------------------------------------------------------------------------------- */

int outbox_check(const struct webhook_list *l, struct err *e)
{
	_cleanup_(freep) char *program = l->n ? fetcher_program() : NULL;

	return !l->n || program ?
		       0 :
		       err_set(e, -ENOENT, RPC_INTERNAL_ERROR, "FETCH_UNAVAILABLE",
			       "webhooks: acpd-fetch, which sends them, is not installed");
}

static void forget_at(struct outbox *o, size_t i)
{
	struct receiver_totals t = { 0 };

	receiver_count(o->receivers[i], &t);
	/* The totals of the outbox must not fall with a receiver; its waiting events are lost with the spool. */
	o->dropped += t.dropped + t.waiting;
	receiver_remove(o->receivers[i]);
	memmove(&o->receivers[i], &o->receivers[i + 1], (--o->n - i) * sizeof(o->receivers[0]));
}

static struct receiver *open_receiver(struct outbox *o, const char *key)
{
	struct err e = { 0 };
	struct receiver *r = receiver_new(&o->cfg, key, &e);

	if (!r) {
		log_error("outbox", "a spool of webhooks cannot be opened", "text", e.msg);
		return NULL;
	}
	receiver_hold(r, o->held);
	o->receivers[o->n++] = r;
	return r;
}

static struct webhook *find_webhook(struct webhook_list *l, const char *key)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->item[i].key, key) == 0)
			return &l->item[i];
	return NULL;
}

static struct receiver *find_receiver(const struct outbox *o, const char *key)
{
	for (size_t i = 0; i < o->n; i++)
		if (strcmp(receiver_key(o->receivers[i]), key) == 0)
			return o->receivers[i];
	return NULL;
}

/* Both are known, and they are two. */
static bool is_of_another(const struct receiver *r)
{
	const char *was = receiver_sandbox(r), *is = sandbox_id();

	return *was && is && strcmp(was, is) != 0;
}

void outbox_claimed(struct outbox *o)
{
	/* from the end, as forget_at moves those behind it */
	for (size_t i = o->n; i-- > 0;)
		if (is_of_another(o->receivers[i]))
			forget_at(o, i);
	o->claimed = true;
	telemetry_begin(o->telemetry, o->incarnation);
}

void outbox_set(struct outbox *o, struct webhook_list *l)
{
	const char *sandbox = sandbox_id() ? sandbox_id() : "";

	/* First, because open_receiver relies on free places in receivers[]. */
	for (size_t i = o->n; i-- > 0;)
		if (!find_webhook(l, receiver_key(o->receivers[i])))
			forget_at(o, i);
	for (size_t i = 0; i < l->n; i++) {
		struct receiver *r = find_receiver(o, l->item[i].key);

		if (!r)
			r = open_receiver(o, l->item[i].key);
		if (r)
			receiver_name(r, &l->item[i], sandbox);
	}
	webhook_list_done(l);
}

static struct spool_bounds outbox_bounds_of(const struct retention *keep)
{
	return (struct spool_bounds){
		.bytes = keep->bytes ? (uint64_t)keep->bytes : WEBHOOK_SPOOL_MAX,
		.age_ms = 1000 * (keep->age_secs ? (uint64_t)keep->age_secs : WEBHOOK_KEEP_SECS),
		.events = WEBHOOK_EVENTS_MAX,
	};
}

void outbox_limit(struct outbox *o, const struct retention *keep)
{
	o->cfg.bounds = outbox_bounds_of(keep);
	for (size_t i = 0; i < o->n; i++)
		receiver_bound(o->receivers[i], &o->cfg.bounds);
}

void outbox_begin(struct outbox *o, const char *incarnation)
{
	if (!o)
		return;
	xstrset(&o->incarnation, incarnation);
	if (o->claimed)
		telemetry_begin(o->telemetry, incarnation);
}

void outbox_forget(struct outbox *o)
{
	while (o->n)
		forget_at(o, o->n - 1);
	o->claimed = false;
	telemetry_forget(o->telemetry);
}

void outbox_hold(struct outbox *o, bool held)
{
	o->held = held;
	telemetry_hold(o->telemetry, held);
	for (size_t i = 0; i < o->n; i++)
		receiver_hold(o->receivers[i], held);
}

/* --- its life --------------------------------------------------------------------------------------------- */

static bool outbox_is_key(const char *name)
{
	return strlen(name) == WEBHOOK_KEY_SIZE - 1 &&
	       strspn(name, "0123456789abcdef") == WEBHOOK_KEY_SIZE - 1;
}

/* Spools of an earlier daemon. Their receivers are unnamed, and send nothing, until outbox_set. */
static void outbox_open_all(struct outbox *o)
{
	_cleanup_(closedirp) DIR *d = opendir(o->dir);
	struct dirent *entry;

	while (d && o->n < WEBHOOKS_MAX && (entry = readdir(d)))
		if (outbox_is_key(entry->d_name))
			open_receiver(o, entry->d_name);
}

struct outbox *outbox_new(const struct outbox_config *cfg)
{
	struct outbox *o = new0(struct outbox);

	o->dir = file_join(cfg->state, "outbox");
	o->cfg = (struct receiver_config){ .loop = cfg->loop,
					   .fetcher = cfg->fetcher,
					   .dir = o->dir,
					   .bounds = outbox_bounds_of(&cfg->keep) };
	if (cfg->telemetry && otlp_config_any(cfg->telemetry))
		o->telemetry = telemetry_new(cfg->loop, cfg->fetcher, cfg->telemetry);
	outbox_open_all(o);
	return o;
}

struct outbox *outbox_free(struct outbox *o)
{
	if (!o)
		return NULL;
	for (size_t i = 0; i < o->n; i++)
		receiver_free(o->receivers[i]);
	telemetry_free(o->telemetry);
	free_each(o->dir, o->incarnation, o);
	return NULL;
}

/* --- what is known of it ---------------------------------------------------------------------------------- */

bool outbox_busy(const struct outbox *o)
{
	for (size_t i = 0; o && i < o->n; i++)
		if (receiver_busy(o->receivers[i]))
			return true;
	return o && telemetry_busy(o->telemetry);
}

struct telemetry *outbox_telemetry(const struct outbox *o)
{
	return o ? o->telemetry : NULL;
}

void outbox_drain(struct outbox *o)
{
	if (o)
		telemetry_flush(o->telemetry);
}

void outbox_put_status(const struct outbox *o, struct jw *w)
{
	jw_arr(w, "webhooks");
	for (size_t i = 0; o && i < o->n; i++)
		receiver_put_status(o->receivers[i], w);
	jw_end_arr(w);
}

void outbox_totals(const struct outbox *o, struct receiver_totals *ret)
{
	*ret = (struct receiver_totals){ .dropped = o ? o->dropped : 0 };
	for (size_t i = 0; o && i < o->n; i++)
		receiver_count(o->receivers[i], ret);
}
