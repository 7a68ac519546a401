#include "session_rig.h"

#include "base/log.h"
#include "base/os/file.h"
#include "session/parts/budget/turn_budget.h"
#include "session/parts/approval/approvals.h"
#include "session/parts/approval/approval_internal.h"

#define JOURNAL_BYTES (1 << 20)
#define CLIENT_ALL 511
#define OWN_ORIGIN 1
#define PROMPT_ORIGIN 2 /* so that the client sees its own prompts */
#define PROMPT_TEXT "[{\"type\":\"text\",\"text\":\"hi\"}]"

static struct rig *rig; /* waiters for a session have nothing else to find it by */

struct rig *rig_at_hand(void)
{
	return rig;
}

void rig_fault(struct rig *r, const char *what)
{
	if (!*r->fault)
		snprintf(r->fault, sizeof(r->fault), "%s", what);
}

/* --- the client ---------------------------------------------------------------------------------------- */

static void on_wake(void *ctx _unused_)
{
}

static void on_ask(void *ctx, struct session_question *a)
{
	struct rig *r = ctx;

	if (r->shown == a)
		rig_fault(r, "the client is shown a question that it has");
	r->shown = a;
	r->shown_times++;
}

static void on_unask(void *ctx, struct session_question *a)
{
	struct rig *r = ctx;

	r->shown = r->shown == a ? NULL : r->shown;
	r->withdrawn++;
}

static void on_detached(void *ctx, const char *reason _unused_)
{
	((struct rig *)ctx)->shown = NULL;
}

static void on_closed(void *ctx _unused_)
{
}

static const struct watcher_ops client_ops = { on_wake, on_ask, on_unask, on_detached, on_closed };

static void on_answered(void *ctx, const struct turn_result *res)
{
	struct rig_prompt *p = ctx;

	p->answers++;
	p->failed = res->failed;
	p->cancelled = res->cancelled;
	p->turn = res->turn;
	if (res->failed) {
		const struct turn_error *e = res->error;

		snprintf(p->how, sizeof(p->how), "%s", e->cls);
		snprintf(p->reason, sizeof(p->reason), "%s", e->reason ? e->reason : "");
		snprintf(p->message, sizeof(p->message), "%s", e->message);
		p->retryable = e->retryable;
	} else
		snprintf(p->how, sizeof(p->how), "%.*s",
			 (int)jobj_get(res->result, "stopReason").raw.n,
			 jobj_get(res->result, "stopReason").raw.p);
	if (p->answers > 1)
		rig_fault(rig, "a prompt is answered twice");
	if (res->result.n && memmem(res->result.p, res->result.n, "\"retried\"", 9))
		rig_fault(rig, "a prompt is answered before its last attempt");
	rig->told |= 1u << res->turn % RIG_TURNS;
	if (ledger_last(rig->store->ledger) < (unsigned)__builtin_popcount(rig->told))
		rig_fault(rig, "a turn is announced before its usage record");
}

static void on_waited(void *ctx, struct session *s _unused_, const struct err *e)
{
	struct rig_waiter *w = ctx;

	if (w->answers++)
		rig_fault(rig, "who waits for the session is answered twice");
	snprintf(w->reason, sizeof(w->reason), "%s", e ? e->reason : "");
}

static int prompt(struct rig *r, const struct prompt_params *p)
{
	int refused = session_prompt(r->s, p, on_answered, &r->prompts[r->nprompts], &r->err);

	loop_run_deferred(r->loop);
	rig_check(r);
	return refused < 0 ? -1 : (int)r->nprompts++;
}

int rig_prompt_text(struct rig *r, const char *content, const char *key, bool reject_if_busy)
{
	return prompt(r, &(struct prompt_params){ .content = slice_of(content),
						  .key = key,
						  .reject_if_busy = reject_if_busy,
						  .origin = PROMPT_ORIGIN });
}

int rig_prompt_checked(struct rig *r)
{
	return prompt(r, &(struct prompt_params){
				 .content = SLICE(PROMPT_TEXT),
				 .checks = SLICE(
					 "[{\"id\":\"a\",\"kind\":\"command\",\"argv\":[\"x\"]}]"),
				 .retry = SLICE("{\"max\":1}"),
				 .origin = PROMPT_ORIGIN });
}

int rig_prompt(struct rig *r, const char *key, bool reject_if_busy)
{
	return rig_prompt_text(r, PROMPT_TEXT, key, reject_if_busy);
}

void rig_cancel(struct rig *r)
{
	session_cancel(r->s);
	loop_run_deferred(r->loop);
	rig_check(r);
}

bool rig_load(struct rig *r, const char *system_prompt)
{
	struct session_params p = { .cwd = "/", .client = CLIENT_ALL };
	JW_BUF(w, text);
	int refused;

	jw_str(&w, NULL, system_prompt);
	if (system_prompt)
		setup_give(&p.setup, &system_prompt_parameter,
			   (struct jval){ J_STRING, buf_slice(&text) });
	refused = session_open(r->s, &p, on_waited, &r->opens[r->nopens], &r->err);
	r->nopens += refused == 0;
	loop_run_deferred(r->loop);
	rig_check(r);
	return refused == 0;
}

void rig_end(struct rig *r, bool remove)
{
	session_close(r->s, remove, on_waited, &r->closes[r->ncloses++]);
	loop_run_deferred(r->loop);
	rig_check(r);
}

void rig_attach(struct rig *r)
{
	watcher_attach(&r->client, r->s, 1);
	watcher_ready(&r->client);
	loop_run_deferred(r->loop);
	rig_check(r);
}

void rig_detach(struct rig *r)
{
	r->shown = NULL; /* its connection is gone */
	watcher_detach(&r->client);
	loop_run_deferred(r->loop);
	rig_check(r);
}

void rig_answer(struct rig *r, const char *option)
{
	char result[96];

	snprintf(result, sizeof(result),
		 "{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"%s\"}}", option);
	session_answer(r->s, TAKE_PTR(r->shown), slice_of(result));
	loop_run_deferred(r->loop);
	rig_check(r);
}

const char *rig_answer_elsewhere(struct rig *r, uint64_t no, const char *option)
{
	_cleanup_(buf_done) struct buf answer = { 0 };
	char id[128];
	int refused;

	snprintf(id, sizeof(id), "%s:%llu", session_id(r->s), (unsigned long long)no);
	r->err = (struct err){ 0 };
	refused = approval_answer(r->store, id, &(struct approval_reply){ .option_id = option },
				  "http", &answer, &r->err);
	loop_run_deferred(r->loop);
	rig_check(r);
	return refused < 0 ? r->err.reason : "";
}

/* --- what must be true ----------------------------------------------------------------------------------- */

static uint64_t number_after(struct slice frame, const char *name)
{
	const char *at = memmem(frame.p, frame.n, name, strlen(name));

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

static bool look_at(void *ctx, const struct evlog_entry *e)
{
	struct rig *r = ctx;
	uint64_t turn = number_after(e->frame, "\"turn\":") % RIG_TURNS;

	r->seen = e->seq;
	if (turn && r->ended[turn])
		rig_fault(r, e->kind == EVENT_TURN_END ? "a turn ends twice" :
							 "something of a turn follows its end");
	if (turn && e->kind == EVENT_TURN_END)
		r->ended[turn]++;
	if (e->kind == UPDATE_AGENT_CHUNK && !turn)
		rig_fault(r, "output belongs to no turn");
	r->shown_events += e->kind == UPDATE_AGENT_CHUNK;
	return true;
}

static void check_turns(struct rig *r)
{
	unsigned queued = 0, ending = 0, running = 0;

	list_each(t, &r->s->turn.queue, struct session_turn, link) {
		queued += t->state == TURN_QUEUED;
		ending += t->state == TURN_ENDING;
		running += t->state == TURN_RUNNING || t->state == TURN_CHECKING ||
			   t->state == TURN_CANCELLING;
	}
	if (queued != r->s->turn.queued || ending != r->s->turn.ending)
		rig_fault(r, "turns are counted wrong");
	if (running > 1 || running != (r->s->turn.current != NULL))
		rig_fault(r, "not one turn runs, or another than the current one");
	if (!running && approval_of(r->s)->nopen)
		rig_fault(r, "a question outlives its turn");
}

void rig_check(struct rig *r)
{
	struct session *found = NULL;

	if (world_restless())
		rig_fault(r, "what comes next has no end");
	list_each(s, &r->store->sessions, struct session, link)
		found = s;
	r->s = found;
	if (!found)
		return;
	if (evlog_read(&r->s->log.events, r->seen + 1, look_at, r) < 0)
		rig_fault(r, "the event log cannot be read");
	check_turns(r);
}

unsigned rig_waiting(const struct rig *r)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->nprompts; i++)
		n += !r->prompts[i].answers;
	for (unsigned i = 0; i < r->nopens; i++)
		n += !r->opens[i].answers;
	for (unsigned i = 0; i < r->ncloses; i++)
		n += !r->closes[i].answers;
	return n;
}

/* --- time -------------------------------------------------------------------------------------------------- */

static bool inside(const void *p, const void *object, size_t size)
{
	return (const char *)p >= (const char *)object &&
	       (const char *)p < (const char *)object + size;
}

/* Of the session, of a question, or of the pool; the store's others only look after its files. */
bool rig_is_timer(const void *ctx, const struct loop_timer *t)
{
	const struct rig *r = ctx;

	if (inside(t, &r->store->pool, sizeof(r->store->pool)))
		return true;
	if (!r->s)
		return false;
	list_each(a, &approval_of(r->s)->open, struct session_question, link)
		if (t == &a->timer)
			return true;
	return inside(t, r->s, sizeof(*r->s));
}

void rig_fire_this(struct rig *r, struct loop_timer *t)
{
	world_fire(t);
	rig_check(r);
}

bool rig_fire(struct rig *r)
{
	struct loop_timer *t = world_next(rig_is_timer, r);

	if (t)
		rig_fire_this(r, t);
	return t;
}

/* --- the rig ------------------------------------------------------------------------------------------------- */

static void make_store(struct rig *r)
{
	struct archive_config archives = { .store_max = 1, .upload_max = 1 };
	struct store_config cfg = { .state = r->dir,
				    .incarnation = "inc",
				    .journal = true,
				    .terms = { .journal_max = JOURNAL_BYTES,
					       .network_max = EGRESS_ON,
					       .permission_timeout = 30,
					       .harness_max = 1,
					       .harness_wait = 30,
					       .harness_start = 60,
					       .session_max = 4 } };
	char dir[80];

	snprintf(dir, sizeof(dir), "%s/archives", r->dir);
	archives.dir = dir;
	r->archives = archive_store_open(r->loop, &archives, &r->err);
	cfg.archives = r->archives;
	r->store = store_new(r->loop, NULL, &r->harnesses, &cfg, &r->err);
	assert_non_null(r->store);
}

void rig_new(struct rig *r, enum when_detached detached, const struct request *request,
	     const struct budgets *budgets)
{
	static const char *const words[] = { "continue", "hold", "cancel" };
	static char id[] = "fake", command[] = "/bin/sh";
	JW_BUF(w, limits);
	struct session_params p = {
		.cwd = "/", .harness = &r->def, .client = CLIENT_ALL, .request = request
	};

	setup_give(&p.setup, &when_detached_parameter,
		   (struct jval){ J_STRING, slice_of(words[detached]) });
	if (budgets) {
		budgets_put(budgets, &w, NULL);
		setup_give(&p.setup, &budgets_parameter,
			   (struct jval){ J_OBJECT, buf_slice(&limits) });
	}
	memset(r, 0, sizeof(*r));
	rig = r;
	log_set_level(LOG_ERROR);
	snprintf(r->dir, sizeof(r->dir), "/dev/shm/acpd-rig-XXXXXX");
	assert_non_null(mkdtemp(r->dir));
	r->loop = loop_new();
	world_begin(r->loop);
	r->def = (struct harness_def){
		.id = id, .command = command, .ops = &rig_agent_ops, .caps = { .restore = true }
	};
	r->harnesses = (struct harness_table){ &r->def, 1, 1 };
	make_store(r);
	r->client.ops = &client_ops;
	r->client.ctx = r;
	r->client.origin = OWN_ORIGIN;
	r->client.client = CLIENT_ALL;
	r->s = session_new(r->store, &p, on_waited, &r->opens[r->nopens++], &r->err);
	assert_non_null(r->s);
	rig_attach(r);
}

void rig_open_ready(struct rig *r)
{
	rig_new(r, DETACHED_CONTINUE, NULL, NULL);
	rig_say(r, "ready");
	assert_true(session_is_open(r->s));
}

void rig_free(struct rig *r)
{
	while (r->s && world_alive()) {
		world_exit(0);
		rig_check(r);
	}
	r->store = store_free(r->store);
	r->archives = archive_store_close(r->archives);
	world_end();
	r->loop = loop_free(r->loop);
	file_remove_tree(r->dir);
}
