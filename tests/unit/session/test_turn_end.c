/* Each way in which a turn ends: once, with its record before its answer, and the session goes on or is gone. */
#include "session_rig.h"

#include "harnesses/adapter.h"
#include "usage/ledger/ledger_internal.h"
#include "ledger_verify.h"

#include <errno.h>

static struct rig r;

static int setup(void **state _unused_)
{
	rig_open_ready(&r);
	rig_prompt(&r, NULL, false);
	return 0;
}

static int teardown(void **state _unused_)
{
	rig_free(&r);
	assert_string_equal(r.fault, "");
	return 0;
}

/* Its end is decided: it is told once the record is durable, and not before. */
static void check_told(const char *how)
{
	assert_true(ledger_last(r.store->ledger) > 0);
	assert_int_equal(r.prompts[0].answers, 0);
	world_sync(0);
	rig_check(&r);
	assert_int_equal(r.prompts[0].answers, 1);
	assert_string_equal(r.prompts[0].how, how);
	assert_int_equal(r.ended[1], 1);
}

/* The next turn runs, in a harness that is started for it if there is none. */
static void check_goes_on(void)
{
	assert_int_equal(rig_prompt(&r, NULL, false), 1);
	if (!r.ready)
		rig_say(&r, "ready");
	while (!r.prompted && rig_fire(&r))
		; /* not in the tick in which a cancelled turn ended */
	rig_say(&r, "output");
	rig_say(&r, "end");
	world_sync(0);
	assert_int_equal(r.prompts[1].answers, 1);
	assert_string_equal(r.prompts[1].how, "\"end_turn\"");
}

static void well(void **state _unused_)
{
	rig_say(&r, "output");
	rig_say(&r, "end");
	check_told("\"end_turn\"");
	rig_say(&r, "output"); /* of no turn */
	assert_int_equal(r.shown_events, 1);
	check_goes_on();
}

static void empty(void **state _unused_)
{
	rig_say(&r, "end");
	check_told("empty_turn");
	check_goes_on();
}

static void failed(void **state _unused_)
{
	rig_say(&r, "output");
	rig_say(&r, "fail");
	check_told("provider");
	check_goes_on();
}

static void harness_dies(void **state _unused_)
{
	rig_say(&r, "output");
	world_exit(3);
	check_told("harness_exit");
	check_goes_on();
}

static void harness_speaks_nonsense(void **state _unused_)
{
	rig_say(&r, "nonsense");
	assert_true(world_stopped());
	check_told("harness_protocol");
	world_exit(0);
	check_goes_on();
}

static void cancelled_and_harness_dies(void **state _unused_)
{
	rig_cancel(&r);
	world_exit(0);
	check_told("\"cancelled\"");
	check_goes_on();
}

/* A harness that does not end a cancelled turn in time loses it, and its life. */
static void cancel_not_answered(void **state _unused_)
{
	rig_cancel(&r);
	assert_true(r.s->turn.cancel_timer.due);
	rig_fire_this(&r, &r.s->turn.cancel_timer);
	assert_true(world_stopped());
	check_told("\"cancelled\"");
	world_exit(0);
	check_goes_on();
}

static void closed(void **state _unused_)
{
	rig_end(&r, false);
	assert_true(r.cancelled);
	rig_say(&r, "end");
	check_told("\"cancelled\"");
	assert_true(world_stopped());
	world_exit(0);
	rig_check(&r);
	assert_int_equal(r.s->state, SESSION_CLOSED);
	assert_int_equal(rig_waiting(&r), 0);
}

static void deleted(void **state _unused_)
{
	rig_end(&r, true);
	world_exit(0);
	world_sync(0);
	rig_check(&r);
	assert_null(r.s);
	assert_int_equal(r.prompts[0].answers, 1);
	assert_string_equal(r.prompts[0].how, "\"cancelled\"");
	assert_int_equal(rig_waiting(&r), 0);
}

/* What the ledger cannot keep must not look like a success. */
static void record_is_lost(void **state _unused_)
{
	rig_say(&r, "output");
	rig_say(&r, "end");
	world_sync(-EIO);
	assert_int_equal(r.prompts[0].answers, 1);
	assert_string_equal(r.prompts[0].how, "resource");
}

/* The rig finds that there is no record, too. */
static void record_is_not_written(void **state _unused_)
{
	r.store->ledger->stuck = true;
	rig_say(&r, "output");
	rig_say(&r, "end");
	world_sync(0);
	assert_int_equal(r.prompts[0].answers, 1);
	assert_string_equal(r.prompts[0].how, "resource");
	assert_string_equal(r.fault, "a turn is announced before its usage record");
	r.fault[0] = '\0';
}

static void daemon_stops(void **state _unused_)
{
	store_stop(r.store, NULL, NULL);
	assert_int_equal(r.prompts[0].answers, 1);
	assert_string_equal(r.prompts[0].how, "shutdown");
	world_exit(0);
}

static void start_fails(void **state _unused_)
{
	rig_open_ready(&r);
	world_exit(0); /* nobody needs it now */
	rig_prompt(&r, NULL, false);
	assert_true(world_alive());
	rig_say(&r, "refuse");
	check_told("harness_start");
	world_exit(0);
	check_goes_on();
}

static void start_takes_too_long(void **state _unused_)
{
	rig_open_ready(&r);
	world_exit(0);
	rig_prompt(&r, NULL, false);
	rig_fire_this(&r, &r.s->harness.start_timer);
	assert_true(world_stopped());
	check_told("harness_start");
	world_exit(0);
	check_goes_on();
}

/* A budget cancels the turn; that it was that is what the client is told. */
static void budget(void **state _unused_)
{
	struct budgets b = { 0 };

	assert_int_equal(budgets_parse(SLICE("{\"turn\":{\"tokens\":10}}"), "", &b, &r.err), 0);
	rig_new(&r, DETACHED_CONTINUE, NULL, &b);
	rig_say(&r, "ready");
	rig_prompt(&r, NULL, false);
	rig_say(&r, "tokens");
	rig_say(&r, "output");
	assert_true(r.cancelled);
	rig_say(&r, "end");
	check_told("\"max_tokens\"");
}

static bool note_record(void *ctx, uint64_t n _unused_, struct slice line)
{
	struct buf *b = ctx;

	buf_printf(b, "%.*s %.*s\n", (int)jobj_get(line, "incarnation").raw.n,
		   jobj_get(line, "incarnation").raw.p,
		   (int)jobj_get(line, "turnIncarnation").raw.n,
		   jobj_get(line, "turnIncarnation").raw.p);
	return true;
}

/* The turn that ran, and the one that waited, belong to the line that they began in. */
static void sandbox_is_another(void **state _unused_)
{
	_cleanup_(buf_done) struct buf records = { 0 };
	struct ledger_report report;
	uint64_t last;

	rig_say(&r, "output");
	last = session_last_seq(r.s);
	rig_prompt(&r, NULL, false);
	assert_int_equal(store_begin_incarnation(r.store, "two", &r.err), 0);
	assert_string_equal(store_incarnation(r.store), "two");
	rig_check(&r);
	check_told("shutdown");
	assert_string_equal(r.prompts[1].how, "shutdown");
	assert_true(world_stopped());
	world_exit(0);
	rig_check(&r);
	assert_int_equal(rig_prompt(&r, NULL, false), 2);
	rig_say(&r, "ready");
	rig_say(&r, "output");
	rig_say(&r, "end");
	world_sync(0);
	assert_string_equal(r.prompts[2].how, "\"end_turn\"");
	assert_int_equal(ledger_read(r.store->ledger, 0, note_record, &records), 0);
	buf_putc(&records, '\0');
	assert_string_equal(records.data, "\"two\" \"inc\"\n\"two\" \"inc\"\n\"two\" \n");
	assert_int_equal(ledger_verify(r.dir, NULL, &report, &r.err), 0);
	assert_int_equal(report.first_bad, 0);
	assert_true(session_shares(r.s, "inc") == last + 1);
	assert_true(session_shares(r.s, "two") == session_last_seq(r.s) + 1);
	assert_true(session_shares(r.s, "three") == 0);
}

static int refuse_content(struct err *e)
{
	return harness_refuse_block(2, e);
}

static int take_no_input(struct err *e)
{
	return err_set(e, -EPIPE, RPC_INTERNAL_ERROR, "HARNESS_GONE", "it takes no input");
}

/* What cannot be told to the harness fails the same way the next time, and the harness is as it was. */
static void prompt_not_passed(void **state _unused_)
{
	static const struct {
		int (*refuses)(struct err *e);
		const char *cls, *reason, *message;
		bool retryable;
	} rows[] = {
		{ refuse_content, "harness_error", "CONTENT_UNSUPPORTED", "prompt[2]: ", false },
		{ take_no_input, "harness_exit", "", "it takes no input", true },
	};

	rig_say(&r, "output");
	rig_say(&r, "end");
	world_sync(0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct rig_prompt *p = &r.prompts[i + 1];

		r.refuses = rows[i].refuses;
		rig_prompt(&r, NULL, false);
		world_sync(0);
		assert_string_equal(p->how, rows[i].cls);
		assert_string_equal(p->reason, rows[i].reason);
		assert_int_equal(p->retryable, rows[i].retryable);
		assert_int_equal(strncmp(p->message, rows[i].message, strlen(rows[i].message)), 0);
		assert_false(world_stopped());
	}
	r.refuses = NULL;
	assert_int_equal(rig_prompt(&r, NULL, false), 3);
	rig_say(&r, "output");
	rig_say(&r, "end");
	world_sync(0);
	assert_string_equal(r.prompts[3].how, "\"end_turn\"");
}

static void no_other_incarnation(void **state _unused_)
{
	static const char *const none[] = { "", "inc", "a b", "\"", "\n" };

	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		assert_int_equal(store_begin_incarnation(r.store, none[i], &r.err), -EINVAL);
	assert_string_equal(store_incarnation(r.store), "inc");
	rig_say(&r, "output");
	rig_say(&r, "end");
	check_told("\"end_turn\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(well, setup, teardown),
		cmocka_unit_test_setup_teardown(empty, setup, teardown),
		cmocka_unit_test_setup_teardown(failed, setup, teardown),
		cmocka_unit_test_setup_teardown(harness_dies, setup, teardown),
		cmocka_unit_test_setup_teardown(harness_speaks_nonsense, setup, teardown),
		cmocka_unit_test_setup_teardown(cancelled_and_harness_dies, setup, teardown),
		cmocka_unit_test_setup_teardown(cancel_not_answered, setup, teardown),
		cmocka_unit_test_setup_teardown(closed, setup, teardown),
		cmocka_unit_test_setup_teardown(deleted, setup, teardown),
		cmocka_unit_test_setup_teardown(record_is_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(record_is_not_written, setup, teardown),
		cmocka_unit_test_setup_teardown(daemon_stops, setup, teardown),
		cmocka_unit_test_setup_teardown(sandbox_is_another, setup, teardown),
		cmocka_unit_test_setup_teardown(prompt_not_passed, setup, teardown),
		cmocka_unit_test_setup_teardown(no_other_incarnation, setup, teardown),
		cmocka_unit_test_teardown(start_fails, teardown),
		cmocka_unit_test_teardown(start_takes_too_long, teardown),
		cmocka_unit_test_teardown(budget, teardown),
	};

	return RUN(tests, NULL, NULL);
}
