/* A question of the harness: answered once, by whoever drives the session, and never after its turn. */
#include "session_rig.h"

#include "base/limits.h"
#include "session/parts/approval/approval_internal.h"
#include "session/parts/approval/approval_terms.h"

#define YES "{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"yes\"}}"
#define NO "{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"no\"}}"
#define CANCELLED "{\"outcome\":{\"outcome\":\"cancelled\"}}"

static struct rig r;

static void give_terms(const char *terms)
{
	setup_change(&r.s->setup, &approvals_parameter, (struct jval){ J_OBJECT, slice_of(terms) });
}

static void begin(enum when_detached detached)
{
	rig_new(&r, detached, NULL, NULL);
	rig_say(&r, "ready");
	rig_prompt(&r, NULL, false);
}

static int teardown(void **state _unused_)
{
	rig_free(&r);
	assert_string_equal(r.fault, "");
	return 0;
}

static void answered(void **state _unused_)
{
	begin(DETACHED_CONTINUE);
	rig_say(&r, "ask");
	assert_non_null(r.shown);
	rig_answer(&r, "yes");
	assert_string_equal(r.answer, YES);
	assert_int_equal(r.asks, 0);
	rig_say(&r, "ask");
	rig_answer(&r, "no");
	assert_string_equal(r.answer, NO);
	assert_int_equal(r.shown_times, 2);
}

/* What was not offered is a no. */
static void answered_wrongly(void **state _unused_)
{
	begin(DETACHED_CONTINUE);
	rig_say(&r, "ask");
	rig_answer(&r, "maybe");
	assert_string_equal(r.answer, NO);
}

/* The harness takes its question back: nobody is asked any more. */
static void taken_back(void **state _unused_)
{
	begin(DETACHED_CONTINUE);
	rig_say(&r, "ask");
	rig_say(&r, "unask");
	assert_null(r.shown);
	assert_int_equal(r.withdrawn, 1);
	assert_string_equal(r.answer, "");
	assert_int_equal(approval_of(r.s)->nopen, 0);
}

static void next_client_is_asked(void **state _unused_)
{
	begin(DETACHED_CONTINUE);
	rig_say(&r, "ask");
	rig_detach(&r);
	assert_string_equal(r.answer, "");
	rig_attach(&r);
	assert_non_null(r.shown);
	assert_int_equal(r.shown_times, 2);
	rig_answer(&r, "yes");
	assert_string_equal(r.answer, YES);
	assert_null(world_next(rig_is_timer, &r)); /* nor is anything rejected later */
}

/* The same connection attaches again: its question is withdrawn, and asked again. */
static void same_client_again(void **state _unused_)
{
	begin(DETACHED_CONTINUE);
	rig_say(&r, "ask");
	rig_attach(&r);
	assert_int_equal(r.withdrawn, 1);
	assert_int_equal(r.shown_times, 2);
	rig_answer(&r, "yes");
	assert_string_equal(r.answer, YES);
}

static void cancelled_with_its_turn(void **state _unused_)
{
	begin(DETACHED_CONTINUE);
	rig_say(&r, "ask");
	rig_cancel(&r);
	assert_null(r.shown);
	assert_string_equal(r.answer, CANCELLED);
	rig_say(&r, "ask"); /* it has not understood yet */
	assert_null(r.shown);
	assert_string_equal(r.answer, CANCELLED);
	assert_int_equal(r.shown_times, 1);
}

static void ends_with_its_turn(void **state _unused_)
{
	begin(DETACHED_CONTINUE);
	rig_say(&r, "ask");
	rig_say(&r, "end");
	assert_null(r.shown);
	assert_int_equal(r.withdrawn, 1);
	assert_int_equal(approval_of(r.s)->nopen, 0);
}

static void ends_with_its_harness(void **state _unused_)
{
	begin(DETACHED_CONTINUE);
	rig_say(&r, "ask");
	world_exit(1);
	assert_null(r.shown);
	assert_int_equal(approval_of(r.s)->nopen, 0);
	assert_string_equal(r.answer, "");
}

/* Nobody is there: rejected after a time, and the turn goes on. */
static void nobody_continue(void **state _unused_)
{
	begin(DETACHED_CONTINUE);
	rig_detach(&r);
	rig_say(&r, "ask");
	assert_true(rig_fire(&r));
	assert_string_equal(r.answer, NO);
	assert_false(r.cancelled);
	assert_true(r.prompted);
}

static void nobody_hold(void **state _unused_)
{
	begin(DETACHED_HOLD);
	rig_detach(&r);
	rig_say(&r, "ask");
	assert_false(rig_fire(&r));
	assert_int_equal(approval_of(r.s)->nopen, 1);
	rig_attach(&r);
	rig_answer(&r, "yes");
	assert_string_equal(r.answer, YES);
}

static void nobody_cancel(void **state _unused_)
{
	begin(DETACHED_CANCEL);
	rig_say(&r, "ask");
	rig_detach(&r);
	rig_fire_this(&r, &r.s->detach_timer);
	assert_true(r.cancelled);
	assert_string_equal(r.answer, CANCELLED);
}

/* Outside of a turn there is nobody to ask. */
static void without_a_turn(void **state _unused_)
{
	begin(DETACHED_CONTINUE);
	rig_say(&r, "end");
	rig_say(&r, "ask");
	assert_string_equal(r.answer, CANCELLED);
	assert_int_equal(r.shown_times, 0);
}

/* By somebody else: the client's question is withdrawn, and who comes later is told. */
static void answered_elsewhere(void **state _unused_)
{
	begin(DETACHED_CONTINUE);
	rig_say(&r, "ask");
	assert_string_equal(rig_answer_elsewhere(&r, 1, "maybe"), "FIELD_INVALID");
	assert_string_equal(rig_answer_elsewhere(&r, 2, "yes"), "APPROVAL_UNKNOWN");
	assert_string_equal(rig_answer_elsewhere(&r, 1, "yes"), "");
	assert_string_equal(r.answer, YES);
	assert_null(r.shown);
	assert_int_equal(r.withdrawn, 1);
	assert_string_equal(rig_answer_elsewhere(&r, 1, "no"), "APPROVAL_ANSWERED");
	assert_non_null(strstr(r.err.msg, "by client"));
}

/* Who answered is known of so many; that it is over, of all. */
static void forgets_who(void **state _unused_)
{
	begin(DETACHED_CONTINUE);
	for (unsigned i = 0; i <= APPROVALS_REMEMBERED; i++) {
		rig_say(&r, "ask");
		rig_answer(&r, "yes");
	}
	assert_string_equal(rig_answer_elsewhere(&r, 1, "no"), "APPROVAL_ANSWERED");
	assert_null(strstr(r.err.msg, "client"));
	assert_string_equal(rig_answer_elsewhere(&r, 2, "no"), "APPROVAL_ANSWERED");
	assert_non_null(strstr(r.err.msg, "client"));
}

/* With a time-out of the session one timer holds from the beginning, whoever comes and goes. */
static void in_time(void **state _unused_)
{
	uint64_t due;

	begin(DETACHED_HOLD);
	give_terms("{\"timeoutMs\":9000,\"default\":\"allow\"}");
	rig_say(&r, "ask");
	due = list_first(&approval_of(r.s)->open, struct session_question, link)->timer.due;
	assert_int_not_equal(due, 0);
	rig_detach(&r);
	rig_attach(&r);
	assert_int_equal(
		list_first(&approval_of(r.s)->open, struct session_question, link)->timer.due, due);
	assert_true(rig_fire(&r));
	assert_string_equal(r.answer, YES);
	assert_null(r.shown);
	assert_string_equal(rig_answer_elsewhere(&r, 1, "no"), "APPROVAL_ANSWERED");
	assert_non_null(strstr(r.err.msg, "timeout"));
}

static void in_time_cancelled(void **state _unused_)
{
	begin(DETACHED_CONTINUE);
	give_terms("{\"timeoutMs\":9000,\"default\":\"cancel\"}");
	rig_say(&r, "ask");
	assert_true(rig_fire(&r));
	assert_string_equal(r.answer, CANCELLED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(answered, teardown),
		cmocka_unit_test_teardown(answered_wrongly, teardown),
		cmocka_unit_test_teardown(taken_back, teardown),
		cmocka_unit_test_teardown(next_client_is_asked, teardown),
		cmocka_unit_test_teardown(same_client_again, teardown),
		cmocka_unit_test_teardown(cancelled_with_its_turn, teardown),
		cmocka_unit_test_teardown(ends_with_its_turn, teardown),
		cmocka_unit_test_teardown(ends_with_its_harness, teardown),
		cmocka_unit_test_teardown(nobody_continue, teardown),
		cmocka_unit_test_teardown(nobody_hold, teardown),
		cmocka_unit_test_teardown(nobody_cancel, teardown),
		cmocka_unit_test_teardown(without_a_turn, teardown),
		cmocka_unit_test_teardown(answered_elsewhere, teardown),
		cmocka_unit_test_teardown(forgets_who, teardown),
		cmocka_unit_test_teardown(in_time, teardown),
		cmocka_unit_test_teardown(in_time_cancelled, teardown),
	};

	return RUN(tests, NULL, NULL);
}
