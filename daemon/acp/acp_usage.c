/* acp_usage.c - _acpd/usage: records of the ledger, for orchestrators that hold a connection anyway. */
#include "acp/acp_internal.h"

#include "base/limits.h"
#include "json/jdec.h"
#include "json/jstr.h"

#include <errno.h>

struct usage_params {
	char *session_id;
	int64_t since;
	struct slice meta;
};

static const struct jfield usage_fields[] = {
	JF_STR(struct usage_params, session_id, "sessionId", 0, RPC_ID_MAX),
	JF_INT(struct usage_params, since, "since", 0, 0, INT64_MAX),
	JF_OBJ(struct usage_params, meta, "_meta", 0),
	JF_END,
};

struct page {
	struct jw *w;
	const char *session_id;
	const struct grant *grant;
	uint64_t last;
	size_t seen; /* bytes of records read: a narrow filter must not hold up the loop */
	bool more;
};

/* Of the sessions of a token that is limited to some, none of another. */
static bool is_wanted(const struct page *p, struct slice line)
{
	_cleanup_(freep) char *id = NULL;

	if (p->session_id)
		return jstr_is(jobj_get(line, "sessionId"), p->session_id);
	return !grant_limited(p->grant) ||
	       (jstr_decode(jobj_get(line, "sessionId"), RPC_ID_MAX, &id) == 0 &&
		grant_sees(p->grant, id));
}

static bool put_record(void *ctx, uint64_t n, struct slice line)
{
	struct page *p = ctx;

	if (p->seen > USAGE_PAGE_BYTES) {
		p->more = true;
		return false;
	}
	p->last = n;
	p->seen += line.n;
	if (is_wanted(p, line))
		jw_raw(p->w, NULL, line);
	return true;
}

/* All that was read goes to the client; of one session it would not be all. Who only observes confirms nothing. */
static void note_read(struct ledger *l, const struct usage_params *a, const struct page *p)
{
	if (a->session_id || grant_limited(p->grant) || grant_scope(p->grant) == GRANT_OBSERVE)
		return;
	ledger_asked(l, (uint64_t)a->since);
	ledger_handed(l, (uint64_t)a->since, p->last);
}

static int read_usage(struct acp_request *q, struct err *e)
{
	struct ledger *ledger = store_ledger(q->conn->srv->store);
	const struct usage_params *a = q->args;
	struct page p = { .w = request_answer(q),
			  .session_id = a->session_id,
			  .grant = q->conn->transport.grant,
			  .last = (uint64_t)a->since };
	int r;

	jw_arr(p.w, "records");
	r = ledger_read(ledger, p.last, put_record, &p);
	if (r < 0)
		return err_set(e, r, RPC_INTERNAL_ERROR, "LEDGER_UNREADABLE", "%s", strerror(-r));
	jw_end_arr(p.w);
	jw_uint(p.w, "last", p.last);
	jw_bool(p.w, "more", p.more);
	if (ledger_first(ledger) > 1)
		jw_uint(p.w, "first", ledger_first(ledger));
	note_read(ledger, a, &p);
	return REQUEST_ANSWER;
}

const struct acp_handler on_usage = ACP_HANDLER(read_usage, struct usage_params, usage_fields);
