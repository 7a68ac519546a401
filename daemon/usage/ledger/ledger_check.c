/*
 * ledger_check.c - verifies a ledger line by line: format, numbers, digests, turns, and sums.
 *
 * State belongs to one incarnation: the next one starts a new chain, without tallies and seen
 * turns. Sessions and their turns are in balanced trees (tsearch(3)), so that no client can choose
 * ids that make a search slow. Sums are compared between consecutive turns only, because a turn whose record could not
 * be written is missing. A ledger without its oldest files must begin at an anchor: the reader's,
 * or the removal mark of usage.state.
 */
#include "usage/ledger/ledger_file.h"

#include "base/format/digits.h"
#include "base/limits.h"
#include "digest/digest.h"
#include "json/json.h"
#include "usage/account.h"
#include "usage/cost.h"

#include <poll.h>
#include <search.h>
#include <stdarg.h>

#define READ_CHUNK (64 * KIB)
#define PATIENCE_STEP_MS 10

/* What a session had used in this incarnation, by its last record. */
struct session_tally {
	char *session;
	void *seen; /* tree of its turns: numbers as pointers */
	uint64_t turns, call_turn, call, calls;
	struct harness_usage sum, between; /* between: of calls without a turn since then */
	bool known;			   /* sum and turns are */
};

struct ledger_check {
	struct ledger_report *report;
	struct ledger_anchor anchor, removed;
	bool chain_only, anchored;
	uint64_t line, n;
	char incarnation[INCARNATION_MAX + 1];
	char digest[SHA256_HEX];
	void *sessions; /* tree of struct session_tally */
};

_printf_(2, 3) static bool ledger_check_fail(struct ledger_check *c, const char *fmt, ...)
{
	struct ledger_report *rep = c->report;
	va_list ap;

	rep->first_bad = c->line;
	va_start(ap, fmt);
	vsnprintf(rep->reason, sizeof(rep->reason), fmt, ap);
	va_end(ap);
	return false;
}

/* --- sessions, and their turns once each ----------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	return a < b ? -1 : a > b;
}

/* False: the turn was seen before. */
static bool turn_see(struct session_tally *t, uint64_t turn)
{
	void *number = (void *)(uintptr_t)turn;

	if (tfind(number, &t->seen, by_number))
		return false;
	if (!tsearch(number, &t->seen, by_number))
		abort();
	return true;
}

static void number_free(void *number _unused_)
{
}

static int by_session(const void *a, const void *b)
{
	const struct session_tally *x = a, *y = b;

	return strcmp(x->session, y->session);
}

static void session_tally_free(void *tally)
{
	struct session_tally *t = tally;

	tdestroy(t->seen, number_free);
	free_each(t->session, t);
}

/* Per incarnation: another incarnation can number its turns and sums from the start. */
static void forget_sessions(struct ledger_check *c)
{
	tdestroy(TAKE_PTR(c->sessions), session_tally_free);
}

static struct session_tally *session_tally_get(struct ledger_check *c, char *session)
{
	struct session_tally key = { .session = session }, *t, **have;

	have = tfind(&key, &c->sessions, by_session);
	if (have)
		return *have;
	t = new0(struct session_tally);
	t->session = xstrdup(session);
	if (!tsearch(t, &c->sessions, by_session))
		abort();
	return t;
}

/* --- sums ----------------------------------------------------------------------------------------------------- */

static bool same_cost(const struct harness_usage *before, const struct harness_usage *turn,
		      const struct harness_usage *sum)
{
	if (!before->has_cost || !sum->has_cost) /* no cost was reported, or several currencies */
		return true;
	return sum->cost == cost_sum(before->cost, turn->has_cost ? turn->cost : 0);
}

/* totalTokens is not checked: if a harness does not report it, it is not always the sum of the others. */
static const char *wrong_sum(const struct harness_usage *before, const struct harness_usage *turn,
			     const struct harness_usage *sum)
{
	for (int i = 0; i < COUNT_MAX; i++)
		if (i != COUNT_TOTAL && sum->count[i] != before->count[i] + turn->count[i])
			return "tokens";
	return same_cost(before, turn, sum) ? NULL : "cost";
}

static bool check_sums(struct ledger_check *c, struct session_tally *t, struct slice line)
{
	struct slice cumulative = jobj_get(line, "cumulative").raw;
	struct harness_usage turn, sum;
	uint64_t turns = jobj_uint(cumulative, "turns");
	const char *what = NULL;

	if (!cumulative.n)
		return true;
	account_load_call(line, &turn);
	account_load_call(cumulative, &sum);
	if (t->known && turns <= t->turns)
		return ledger_check_fail(c, "cumulative.turns is %llu, and was %llu before",
					 (unsigned long long)turns, (unsigned long long)t->turns);
	/* a record that could not be written left its turn without one: then the sum is of more turns than the
	 * records */
	usage_add(&turn, &t->between);
	t->between = (struct harness_usage){ 0 };
	if (t->known && turns == t->turns + 1)
		what = wrong_sum(&t->sum, &turn, &sum);
	t->known = true;
	t->turns = turns;
	t->sum = sum;
	return what ? ledger_check_fail(c, "cumulative is not the sum of the turns: %s", what) :
		      true;
}

/* Calls that failed, or that the harness gave up, are no steps of their turn. */
static bool succeeded(struct slice line)
{
	return jobj_get(line, "error").type == J_NONE && jobj_get(line, "cancelled").type == J_NONE;
}

/* A call without a turn counts in the sum of the next one. */
static bool check_call(struct ledger_check *c, struct session_tally *t, struct slice line)
{
	uint64_t turn = jobj_uint(line, "turn"), call = jobj_uint(line, "call");
	struct harness_usage used;

	if (!turn) {
		account_load_call(line, &used);
		usage_add(&t->between, &used);
		return true;
	}
	if (t->call_turn != turn)
		t->calls = t->call = 0;
	t->call_turn = turn;
	t->calls += succeeded(line);
	if (call <= t->call)
		return ledger_check_fail(c, "model call %llu of turn %llu comes after call %llu",
					 (unsigned long long)call, (unsigned long long)turn,
					 (unsigned long long)t->call);
	t->call = call;
	return true;
}

static bool check_turn_record(struct ledger_check *c, struct session_tally *t, struct slice line)
{
	uint64_t turn = jobj_uint(line, "turn"), calls = jobj_uint(line, "modelCalls");

	if (!turn_see(t, turn))
		return ledger_check_fail(c, "turn %llu of session %.40s is recorded twice",
					 (unsigned long long)turn, t->session);
	if (calls && t->call_turn == turn && t->calls > calls)
		return ledger_check_fail(c, "modelCalls is %llu where %llu are recorded",
					 (unsigned long long)calls, (unsigned long long)t->calls);
	return check_sums(c, t, line);
}

static bool check_record(struct ledger_check *c, struct slice line)
{
	_cleanup_(freep) char *session = NULL;
	struct jval type = jobj_get(line, "type");

	if (jstr_decode(jobj_get(line, "sessionId"), RPC_ID_MAX, &session) < 0)
		return true; /* of an unknown kind */
	if (jstr_is(type, "turn"))
		return check_turn_record(c, session_tally_get(c, session), line);
	return jstr_is(type, "model_call") ? check_call(c, session_tally_get(c, session), line) :
					     true;
}

/* --- the chain ------------------------------------------------------------------------------------------------ */

/* True if the ledger may begin at n when the records up to the anchor are gone. */
static bool anchor_allows_start(const struct ledger_anchor *a, uint64_t n)
{
	return a->n && n <= a->n + 1;
}

/* Where a ledger without its older files begins. */
static bool check_chain_begin(struct ledger_check *c, const struct ledger_head *h)
{
	const struct ledger_anchor *before = c->anchor.n == h->n - 1 ? &c->anchor : &c->removed;

	if (h->n == 1)
		return true;
	if (!anchor_allows_start(&c->anchor, h->n) && !anchor_allows_start(&c->removed, h->n))
		return ledger_check_fail(c, "n is %llu where %llu was due",
					 (unsigned long long)h->n,
					 (unsigned long long)MAX(c->anchor.n, c->removed.n) + 1);
	c->report->anchored = true;
	c->anchored = c->anchor.n == h->n - 1;
	if (c->anchored && c->anchor.n == c->removed.n &&
	    strcmp(c->anchor.digest, c->removed.digest) != 0)
		return ledger_check_fail(c, "the record before it was not the anchor");
	if (before->n != h->n - 1 || !h->prev_digest.n) /* the anchor itself is still to come */
		return true;
	return slice_is(h->prev_digest, before->digest) ?
		       true :
		       ledger_check_fail(c, "prevDigest is not the anchor's");
}

static bool check_chain(struct ledger_check *c, const struct ledger_head *h)
{
	bool first = !c->report->records, same = slice_is(h->incarnation, c->incarnation);

	if (first) {
		c->report->first = h->n;
		if (!check_chain_begin(c, h))
			return false;
	} else if (h->n != c->n + 1) {
		return ledger_check_fail(c, "n is %llu where %llu was due",
					 (unsigned long long)h->n, (unsigned long long)(c->n + 1));
	}
	/* The first record of a ledger without its older files may continue an incarnation whose
	 * beginning was removed. */
	if (!same && h->prev_digest.n && (!first || h->n == 1))
		return ledger_check_fail(
			c, "prevDigest is not null in the first record of an incarnation");
	if (same && !h->prev_digest.n)
		return ledger_check_fail(c, "prevDigest is null within an incarnation");
	if (same && !slice_is(h->prev_digest, c->digest))
		return ledger_check_fail(c, "prevDigest is not the digest of the line before");
	c->report->incarnations += !same;
	if (!same)
		forget_sessions(c);
	return true;
}

static bool check_anchor(struct ledger_check *c)
{
	if (c->n != c->anchor.n)
		return true;
	c->anchored = true;
	return strcmp(c->digest, c->anchor.digest) == 0 ?
		       true :
		       ledger_check_fail(c, "its digest is not the anchor's");
}

bool ledger_check_line(struct ledger_check *c, struct slice line, int kind)
{
	struct ledger_head h;
	struct sha256 d;
	const char *what;

	c->line++;
	if (kind == 2)
		return ledger_check_fail(c, "longer than %lu bytes", LEDGER_LINE_MAX);
	if (ledger_line_check(line, &h, &what) != LEDGER_LINE_OK)
		return ledger_check_fail(c, "%s", what);
	if (!check_chain(c, &h))
		return false;
	if (sha256_of(line, &d) < 0)
		return ledger_check_fail(c, "its digest cannot be made");
	sha256_hex(&d, c->digest);
	/* The line is a slice into the reader's buffer, so what the next line is compared with is
	 * copied. */
	snprintf(c->incarnation, sizeof(c->incarnation), "%.*s", (int)h.incarnation.n,
		 h.incarnation.p);
	c->n = h.n;
	c->report->records++;
	c->report->last = h.n;
	memcpy(c->report->digest, c->digest, sizeof(c->digest));
	return check_anchor(c) && (c->chain_only || check_record(c, line));
}

bool ledger_check_end(struct ledger_check *c)
{
	/* Without any record the ledger ends where the daemon removed its last file. */
	uint64_t last = c->report->records ? c->n : c->removed.n;

	if (c->report->first_bad)
		return false;
	if (last < c->anchor.n || last < c->removed.n) {
		c->line++;
		return ledger_check_fail(
			c, "record %llu is missing: the ledger ends before the anchor",
			(unsigned long long)MAX(c->anchor.n, c->removed.n));
	}
	if (!c->anchor.n || c->anchored)
		return true;
	/* A line number of 0 would mean that all is good. */
	c->line += !c->line;
	return c->anchor.n == c->removed.n && strcmp(c->anchor.digest, c->removed.digest) == 0 ?
		       true :
		       ledger_check_fail(c, "record %llu was removed",
					 (unsigned long long)c->anchor.n);
}

void ledger_check_next_file(struct ledger_check *c)
{
	c->report->file++;
	c->line = 0;
}

/* --- life ------------------------------------------------------------------------------------------------------- */

bool ledger_anchor_parse(const char *text, struct ledger_anchor *ret)
{
	struct slice digest = slice_of(text), n;

	*ret = (struct ledger_anchor){ 0 };
	/* A number is written in one way only, without a leading zero. */
	if (*text == '0' || !slice_cut(&digest, ':', &n) || !u64_parse(n, &ret->n) ||
	    digest.n != SHA256_HEX - 1 || !slice_only(digest, "0123456789abcdef"))
		return false;
	memcpy(ret->digest, digest.p, SHA256_HEX);
	return true;
}

struct ledger_check *ledger_check_new(const struct ledger_anchor *anchor, bool chain_only,
				      struct ledger_report *rep)
{
	struct ledger_check *c = new0(struct ledger_check);

	*rep = (struct ledger_report){ 0 };
	c->report = rep;
	c->chain_only = chain_only;
	if (anchor)
		c->anchor = *anchor;
	return c;
}

void ledger_check_removed(struct ledger_check *c, const struct ledger_anchor *removed)
{
	c->removed = *removed;
}

struct ledger_check *ledger_check_free(struct ledger_check *c)
{
	if (c)
		forget_sessions(c);
	free(c);
	return NULL;
}

/* On a busy machine, a writer may pause in the middle of a line. */
static int next_patiently(struct ledger_lines *l, unsigned patience_ms, struct slice *line)
{
	int r = ledger_lines_next(l, line);

	for (unsigned waited = 0; r == 0 && waited < patience_ms && buf_len(&l->b);
	     waited += PATIENCE_STEP_MS) {
		poll(NULL, 0, PATIENCE_STEP_MS);
		r = ledger_lines_next(l, line);
	}
	return r;
}

int ledger_check_fd(struct ledger_check *c, int fd, unsigned patience_ms)
{
	_cleanup_(ledger_lines_done) struct ledger_lines l = { 0 };
	struct slice line;
	int r;

	ledger_check_next_file(c);
	ledger_lines_init(&l, fd, 0, READ_CHUNK);
	while ((r = next_patiently(&l, patience_ms, &line)) > 0)
		if (!ledger_check_line(c, line, r))
			break;
	/* Bytes without a newline at the end of the file, and no writer has completed them. */
	if (r == 0 && buf_len(&l.b)) {
		c->line++;
		ledger_check_fail(c, "the last line is not complete");
	}
	return MIN(r, 0);
}
