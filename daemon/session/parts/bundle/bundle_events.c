/*
 * bundle_events.c - checks each line of an imported journal, and rewrites it as a line of this
 * daemon.
 *
 * The lines are untrusted, yet clients later receive them as messages of the session. So a line
 * must be exactly one notification of the expected method, session and number. jscan_object refuses
 * duplicate members at each level that is checked. The origin is reset: a connection number of
 * another daemon would match an unrelated connection here.
 */
#include "session/parts/bundle/bundle_events.h"

#include "base/util.h"
#include "json/json.h"
#include "session/core/log/event_table.h"
#include "session/core/log/journal_record.h"

static const char *method_of(unsigned kind)
{
	if (kind < UPDATE_MAX)
		return "session/update";
	return kind == EVENT_TURN_END ? "_acpd/turn_end" : "_acpd/event";
}

/* Readers of a message in which a member stands twice may see two different ones: none of those looked at may. */
struct event_params {
	struct jslot kind, seq, acpd, all[4];
};

enum { OF_SESSION, OF_UPDATE, OF_EVENT, OF_META };

static bool scan_params(struct slice params, struct event_params *p)
{
	*p = (struct event_params){
		.kind = { .key = "sessionUpdate" },
		.seq = { .key = "seq" },
		.acpd = { .key = "acpd", .sub = &p->seq, .nsub = 1 },
		.all = { [OF_SESSION] = { .key = "sessionId" },
			 [OF_UPDATE] = { .key = "update", .sub = &p->kind, .nsub = 1 },
			 [OF_EVENT] = { .key = "event" },
			 [OF_META] = { .key = "_meta", .sub = &p->acpd, .nsub = 1 } },
	};
	return jscan_object(params, p->all, ARRAY_SIZE(p->all)) == JSCAN_OK;
}

/* What stands in params of such a message. */
static bool data_fits(unsigned kind, const struct event_params *p)
{
	if (kind == EVENT_TURN_END)
		return true;
	if (kind > EVENT_TURN_END)
		return p->all[OF_EVENT].v.type == J_OBJECT;
	return jstr_is(p->kind.v, event_kind_name(kind));
}

static bool params_fit(const struct bundle_events *b, const struct journal_record *rec,
		       struct jval params)
{
	struct event_params p;
	int64_t seq = 0;

	return params.type == J_OBJECT && scan_params(params.raw, &p) &&
	       jstr_is(p.all[OF_SESSION].v, b->session_id) && jdec_int(p.seq.v, &seq) == 0 &&
	       seq >= 0 && (uint64_t)seq == rec->seq && data_fits(rec->kind, &p);
}

static unsigned count_members(struct slice object)
{
	unsigned n = 0;

	jobj_each(key, v, object)
		n++;
	return n;
}

/* A notification, and nothing else: exactly three members. With an id it would be a request, which clients would answer. */
static bool message_fits(const struct bundle_events *b, const struct journal_record *rec)
{
	struct jslot m[] = { { .key = "jsonrpc" }, { .key = "method" }, { .key = "params" } };

	return jscan_object(rec->value, m, ARRAY_SIZE(m)) == JSCAN_OK &&
	       count_members(rec->value) == ARRAY_SIZE(m) && jstr_is(m[0].v, "2.0") &&
	       jstr_is(m[1].v, method_of(rec->kind)) && params_fit(b, rec, m[2].v);
}

int bundle_events_take(struct bundle_events *b, struct slice line, struct buf *out, struct err *e)
{
	struct journal_record rec;

	/* Numbers only rise, and gaps are allowed: the other daemon may have dropped events. */
	if (journal_record_parse(line, &rec) < 0 || rec.kind >= EVENT_KIND_MAX ||
	    rec.seq <= b->last || rec.seq > (uint64_t)BUNDLE_NUMBER_MAX ||
	    rec.time_ms > (uint64_t)BUNDLE_NUMBER_MAX || !message_fits(b, &rec))
		return err_set(e, -EBADMSG, RPC_INVALID_PARAMS, "BUNDLE_INVALID",
			       "journal.ndjson: what follows event %llu is no event of the session",
			       (unsigned long long)b->last);
	if (!b->first)
		b->first = rec.seq;
	b->last = rec.seq;
	/* A number that only the other daemon knew. */
	rec.origin = 0;
	return journal_record_put(out, &rec, event_kind_name(rec.kind));
}

void bundle_put_extract(struct jw *w, const char *target, const char *archive, const char *digest)
{
	jw_object(w, NULL, JW_STR("target", target), JW_BOOL("once", true),
		  JW_OBJ("limits", JW_UINT("entries", BUNDLE_FILES_MAX + 16),
			 JW_UINT("bytes", BUNDLE_BYTES_MAX), JW_UINT("fileBytes", BUNDLE_BYTES_MAX),
			 JW_UINT("ratio", BUNDLE_RATIO_MAX)),
		  JW_ARR("sources", JW_STR("archive", archive), JW_STR("digest", digest)));
}
