/* What is kept beside a journal holds for that journal alone, and shows what reading all of it would. What the disk has changed in it
 * is found afterwards. */
#include "unit.h"

#include "base/os/file.h"
#include "json/jenc.h"
#include "session/core/log/event_table.h"
#include "session/core/log/evlog.h"
#include "session/core/log/journal_record.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define JOURNAL "journal"
#define EVENTS 3000u /* some entries of the index, some pieces of a check */
#define PAD 300

static struct loop *loop;
static struct evlog l;
static struct buf outline;

static void frame_of(uint64_t seq, char text[PAD + 64])
{
	sprintf(text, "{\"event\":%llu,\"pad\":\"%0*d\"}", (unsigned long long)seq, PAD, 0);
}

static void append(uint64_t seq)
{
	char frame[PAD + 64];
	struct evlog_entry e = { .seq = seq, .kind = UPDATE_AGENT_CHUNK };

	frame_of(seq, frame);
	e.frame = slice_of(frame);
	evlog_append(&l, &e, event_kind_name(e.kind));
}

static bool put_outline(void)
{
	struct jw w = JW(&outline);
	bool done;

	buf_reset(&outline);
	jw_obj(&w, NULL);
	done = evlog_outline_put(&l, &w);
	jw_end_obj(&w);
	return done;
}

static int setup(void **state)
{
	scratch_setup(state);
	loop = loop_new();
	if (evlog_open(&l, loop, scratch_path(JOURNAL), 64 << 20) < 0)
		return -1;
	for (uint64_t i = 1; i <= EVENTS; i++)
		append(i);
	return evlog_flush(&l);
}

static int teardown(void **state)
{
	evlog_close(&l);
	buf_done(&outline);
	loop = loop_free(loop);
	return scratch_done(state);
}

static int take(void)
{
	return evlog_outline_take(&l, loop, scratch_path(JOURNAL), 64 << 20, buf_slice(&outline));
}

/* Of what is read: that many in order, from there. */
struct seen {
	uint64_t next;
};

static bool see(void *ctx, const struct evlog_entry *e)
{
	struct seen *s = ctx;
	char want[PAD + 64];

	frame_of(e->seq, want);
	assert_true(e->seq == s->next);
	assert_text(e->frame, want);
	s->next++;
	return true;
}

static void check_history(uint64_t last)
{
	for (uint64_t from = 1; from <= last; from += 97) {
		struct seen s = { from };

		assert_int_equal(evlog_read(&l, from, see, &s), 0);
		assert_true(s.next == last + 1);
	}
}

static void damage(off_t at)
{
	int fd = open(scratch_path(JOURNAL), O_RDWR | O_CLOEXEC);
	struct stat sb;
	char c;

	assert_int_equal(fstat(fd, &sb), 0);
	assert_int_equal(pread(fd, &c, 1, at), 1);
	c ^= 1;
	assert_int_equal(pwrite(fd, &c, 1, at), 1);
	assert_int_equal(futimens(fd, (struct timespec[]){ sb.st_atim, sb.st_mtim }), 0);
	close(fd);
}

static bool check(void)
{
	struct evlog_check *c = evlog_check_begin(&l);
	bool damaged;
	int r;

	assert_non_null(c);
	while ((r = evlog_check_step(c)) > 0)
		;
	assert_int_equal(r, 0);
	damaged = evlog_check_end(c, &l);
	evlog_check_free(c);
	return damaged;
}

static void test_taken_up(void **state _unused_)
{
	assert_true(put_outline());
	evlog_close(&l);
	assert_int_equal(take(), 0);
	assert_true(l.last == EVENTS && l.flushed == EVENTS && l.tail_first == EVENTS + 1);
	assert_true(l.nindex > 2);
	check_history(EVENTS);
	append(EVENTS + 1);
	check_history(EVENTS + 1);
	assert_false(check());
	evlog_shrink(&l);
	check_history(EVENTS + 1);
}

static void test_not_all_is_written(void **state _unused_)
{
	append(EVENTS + 1);
	assert_false(put_outline());
	assert_int_equal(evlog_flush(&l), 0);
	assert_true(put_outline());
}

static void test_grown_since(void **state _unused_)
{
	assert_true(put_outline());
	append(EVENTS + 1);
	evlog_close(&l);
	assert_int_equal(take(), -ESTALE);
}

static void test_touched_since(void **state _unused_)
{
	assert_true(put_outline());
	evlog_close(&l);
	assert_int_equal(utimensat(AT_FDCWD, scratch_path(JOURNAL),
				   (struct timespec[]){ { 1, 0 }, { 1, 0 } }, 0),
			 0);
	assert_int_equal(take(), -ESTALE);
}

/* As a machine leaves it that lost its power: as long as it was, and zeros at the end. */
static void test_another_end(void **state _unused_)
{
	assert_true(put_outline());
	damage(l.written - 5);
	evlog_close(&l);
	assert_int_equal(take(), -ESTALE);
}

static void test_no_outline(void **state _unused_)
{
	evlog_close(&l);
	for (const char *const *at =
		     (const char *const[]){ "{}", "[]", "", "{\"size\":1e3}", NULL };
	     *at; at++) {
		buf_reset(&outline);
		buf_puts(&outline, *at);
		assert_true(take() < 0);
	}
}

static void test_damage_is_found(void **state _unused_)
{
	struct evlog_gap g;
	struct seen s = { 1 };
	uint64_t hit;

	assert_true(put_outline());
	damage(l.written / 2);
	evlog_close(&l);
	assert_int_equal(take(), 0);
	assert_true(check());
	assert_true(evlog_damaged(&l) && evlog_missing(&l) == 1);
	assert_int_equal(evlog_read(&l, 1, see, &s), 0);
	hit = s.next;
	assert_true(hit > 1 && evlog_gap(&l, hit, &g) && g.to == hit);
	s.next = hit + 1;
	assert_int_equal(evlog_read(&l, hit + 1, see, &s), 0);
	assert_true(s.next == EVENTS + 1);
	assert_false(put_outline()); /* what is damaged is read as a whole the next time */
}

static void test_the_last_one_is_damaged(void **state _unused_)
{
	struct evlog_gap g;

	assert_true(put_outline());
	damage(l.written - 100);
	evlog_close(&l);
	assert_int_equal(take(), 0);
	assert_true(check());
	assert_true(evlog_gap(&l, EVENTS, &g) && g.from == EVENTS && g.to == EVENTS);
	append(EVENTS + 1);
	assert_true(l.last == EVENTS + 1 && evlog_missing(&l) == 1);
}

/* Given up before or meanwhile: that is no damage. */
static void test_trimmed(void **state _unused_)
{
	struct evlog_index at;
	struct evlog_check *c;

	assert_true(evlog_cut(&l, EVENTS / 2, 1, &at));
	if (!evlog_trim(&l, &at))
		skip(); /* this file system cannot */
	assert_true(put_outline());
	evlog_close(&l);
	assert_int_equal(take(), 0);
	evlog_was_trimmed(&l, at.seq - 1);
	assert_false(check());
	c = evlog_check_begin(&l);
	assert_true(evlog_cut(&l, EVENTS, 1, &at));
	assert_true(evlog_trim(&l, &at));
	while (evlog_check_step(c) > 0)
		;
	assert_false(evlog_check_end(c, &l));
	evlog_check_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_taken_up, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_all_is_written, setup, teardown),
		cmocka_unit_test_setup_teardown(test_grown_since, setup, teardown),
		cmocka_unit_test_setup_teardown(test_touched_since, setup, teardown),
		cmocka_unit_test_setup_teardown(test_another_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_outline, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damage_is_found, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_last_one_is_damaged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_trimmed, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
