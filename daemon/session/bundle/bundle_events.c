#include "session/bundle/bundle_events.h"

#include "base/limits.h"
#include "base/util.h"
#include "json/jdec.h"
#include "json/jenc.h"
#include "json/jstr.h"
#include "session/log/event_table.h"
#include "session/log/journal_record.h"

#include <errno.h>

#define NUMBER_MAX ((uint64_t)1 << 52) /* of events, and of milliseconds */

static const char *method_of(unsigned kind)
{
	if (kind < UPDATE_MAX)
		return "session/update";
	return kind == EVENT_TURN_END ? "_acpd/turn_end" : "_acpd/event";
}

/* What stands in params of such a message. */
static bool data_fits(unsigned kind, struct slice params)
{
	if (kind == EVENT_TURN_END)
		return true;
	if (kind > EVENT_TURN_END)
		return jobj_get(params, "event").type == J_OBJECT;
	return jstr_is(jobj_get(jobj_get(params, "update").raw, "sessionUpdate"),
		       event_kind_name(kind));
}

static bool params_fit(const struct bundle_events *b, const struct journal_record *rec,
		       struct jval params)
{
	struct slice meta;

	if (params.type != J_OBJECT || !jstr_is(jobj_get(params.raw, "sessionId"), b->session_id))
		return false;
	meta = jobj_get(jobj_get(params.raw, "_meta").raw, "acpd").raw;
	return jobj_uint(meta, "seq") == rec->seq && data_fits(rec->kind, params.raw);
}

/* A notification, and nothing else: three members. */
static bool message_fits(const struct bundle_events *b, const struct journal_record *rec)
{
	struct slice key;
	struct jiter it;
	struct jval whole, v;
	unsigned n = 0;

	if (jscan_value(rec->value, &whole) != JSCAN_OK || whole.type != J_OBJECT ||
	    !jiter_init(&it, whole))
		return false;
	for (; jiter_next(&it, &key, &v); n++)
		if (!(jkey_is(key, "jsonrpc") && jstr_is(v, "2.0")) &&
		    !(jkey_is(key, "method") && jstr_is(v, method_of(rec->kind))) &&
		    !(jkey_is(key, "params") && params_fit(b, rec, v)))
			return false;
	return n == 3;
}

int bundle_events_take(struct bundle_events *b, struct slice line, struct buf *out, struct err *e)
{
	struct journal_record rec;

	if (journal_record_parse(line, &rec) < 0 || rec.kind >= EVENT_KIND_MAX ||
	    rec.seq <= b->last || rec.seq > NUMBER_MAX || rec.time_ms > NUMBER_MAX ||
	    !message_fits(b, &rec))
		return err_set(e, -EBADMSG, RPC_INVALID_PARAMS, "BUNDLE_INVALID",
			       "journal.ndjson: what follows event %llu is no event of the session",
			       (unsigned long long)b->last);
	if (!b->first)
		b->first = rec.seq;
	b->last = rec.seq;
	rec.origin = 0;
	return journal_record_put(out, &rec, event_kind_name(rec.kind));
}

void bundle_put_extract(struct jw *w, const char *target, const char *archive, const char *digest)
{
	jw_obj(w, NULL);
	jw_str(w, "target", target);
	jw_obj(w, "limits");
	jw_uint(w, "entries", BUNDLE_FILES_MAX + 16);
	jw_uint(w, "bytes", BUNDLE_BYTES_MAX);
	jw_uint(w, "fileBytes", BUNDLE_BYTES_MAX);
	jw_uint(w, "ratio", BUNDLE_RATIO_MAX);
	jw_end_obj(w);
	jw_arr(w, "sources");
	jw_obj(w, NULL);
	jw_str(w, "archive", archive);
	jw_str(w, "digest", digest);
	jw_end_obj(w);
	jw_end_arr(w);
	jw_end_obj(w);
}
