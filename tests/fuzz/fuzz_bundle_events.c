/* Lines of journal.ndjson of a bundle: what is taken is a notification of the session, numbers rise, and a journal of ours
 * reads the same. A line of the input may lack its checksum, which no fuzzer guesses. */
#include "fuzz.h"

#include "base/format/crc32c.h"
#include "json/jstr.h"
#include "rpc/rpc.h"
#include "session/parts/bundle/bundle_events.h"
#include "session/core/log/event_table.h"
#include "session/core/log/journal_record.h"

#include <errno.h>

#define SESSION "sess_1"

static void check_record(const struct bundle_events *b, struct slice line)
{
	struct journal_record rec;
	struct rpc_msg m;
	struct err e;

	FUZZ_CHECK(line.n && line.p[line.n - 1] == '\n');
	FUZZ_CHECK(!memchr(line.p, '\n', line.n - 1));
	FUZZ_CHECK(journal_record_parse((struct slice){ line.p, line.n - 1 }, &rec) == 0);
	FUZZ_CHECK(rec.seq == b->last && rec.kind < EVENT_KIND_MAX && !rec.origin);
	FUZZ_CHECK(rpc_parse(rec.value, &m, &e) == RPC_PARSED && m.kind == RPC_NOTIFICATION);
	FUZZ_CHECK(strcmp(m.method, "session/update") == 0 || strncmp(m.method, "_acpd/", 6) == 0);
	FUZZ_CHECK(jstr_is(jobj_get(m.params, "sessionId"), SESSION));
}

static void take(struct bundle_events *b, struct slice line)
{
	_cleanup_(buf_done) struct buf out = { 0 };
	const struct bundle_events was = *b;
	struct err e = { 0 };
	int r = bundle_events_take(b, line, &out, &e);

	FUZZ_CHECK(r == 0 || r == -EBADMSG);
	if (r == 0) {
		FUZZ_CHECK(b->last > was.last && b->first && b->first <= b->last);
		check_record(b, buf_slice(&out));
		return;
	}
	check_err(&e);
	FUZZ_CHECK(strcmp(e.reason, "BUNDLE_INVALID") == 0);
	FUZZ_CHECK(b->last == was.last && b->first == was.first && !buf_len(&out));
}

static void take_with_crc(struct bundle_events *b, struct slice head)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	_cleanup_(exact_free) struct slice line = SLICE_NONE;

	buf_add_slice(&text, head);
	buf_printf(&text, ",\"crc\":\"%08x\"}", crc32c(0, head.p, head.n));
	line = exact(text.data, text.len);
	take(b, line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bundle_events b = { .session_id = SESSION };
	_cleanup_(exact_free) struct slice text = exact(data, size);
	struct slice rest = text, line;

	while (next_piece(&rest, '\n', &line)) {
		take(&b, line);
		take_with_crc(&b, line);
	}
	return 0;
}
