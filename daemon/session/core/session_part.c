/*
 * session_part.c - calls the hooks of the parts of a session, and places their state.
 *
 * The states of the parts lie in one block with the session, or with the store: it is allocated and freed as one, and a
 * state is found by one load.
 */
#include "session/core/session_part.h"

#include "session/core/session_internal.h"
#include "session/parts/rules/rule_judge.h"

/* Calls a hook of all parts that have it, with these arguments. */
#define CALL_PARTS(hook, ...)                                                                      \
	do {                                                                                       \
		for (size_t i = 0; i < session_parts_count; i++)                                   \
			if (session_parts[i]->hook)                                                \
				session_parts[i]->hook(__VA_ARGS__);                               \
	} while (0)

/* States begin where any object may. */
static size_t part_room(size_t size)
{
	const size_t align = _Alignof(max_align_t);

	return (size + align - 1) / align * align;
}

/* The state of the first part begins after the owner, and its pointers to all of them. */
static size_t parts_begin(size_t owner)
{
	return part_room(owner + session_parts_count * sizeof(void *));
}

size_t session_parts_size(void)
{
	size_t size = parts_begin(sizeof(struct session));

	for (size_t i = 0; i < session_parts_count; i++)
		size += part_room(session_parts[i]->size);
	return size;
}

void session_parts_create(struct session *s)
{
	char *at = (char *)s + parts_begin(sizeof(*s));

	for (size_t i = 0; i < session_parts_count; i++) {
		s->parts[i] = at;
		at += part_room(session_parts[i]->size);
	}
	CALL_PARTS(create, s);
}

/* The first answer of a hook that is not 0. */
#define FIRST_ANSWER(hook, ...)                                                                    \
	do {                                                                                       \
		for (size_t i = 0; i < session_parts_count; i++) {                                 \
			int answer =                                                               \
				session_parts[i]->hook ? session_parts[i]->hook(__VA_ARGS__) : 0;  \
                                                                                                   \
			if (answer)                                                                \
				return answer;                                                     \
		}                                                                                  \
		return 0;                                                                          \
	} while (0)

void session_parts_begin(struct session *s, const struct session_params *p)
{
	CALL_PARTS(begin, s, p);
}

static int place(struct session *s, const struct session_params *p, const struct session *from,
		 struct err *e)
{
	FIRST_ANSWER(place, s, p, from, e);
}

int session_parts_place(struct session *s, const struct session_params *p,
			const struct session *from, struct err *e)
{
	int r = place(s, p, from, e);

	if (r < 0)
		CALL_PARTS(unplace, s);
	return r;
}

void session_parts_unmake(struct session *s)
{
	CALL_PARTS(unmake, s);
}

int session_parts_precede(struct session *s, const struct session_params *p, struct err *e)
{
	FIRST_ANSWER(precede, s, p, e);
}

int session_parts_launch_first(struct session *s, struct err *e)
{
	FIRST_ANSWER(launch_first, s, e);
}

int session_parts_check_setup(const struct setup_request *r, struct err *e)
{
	FIRST_ANSWER(check_setup, r, e);
}

int session_parts_check_reopen(const struct session *s, struct err *e)
{
	FIRST_ANSWER(check_reopen, s, e);
}

int session_parts_check_open(const struct session *s, const struct session_params *p, struct err *e)
{
	FIRST_ANSWER(check_open, s, p, e);
}

int session_parts_check_files(const struct session *s, struct err *e)
{
	FIRST_ANSWER(check_files, s, e);
}

int session_parts_check_touch(const struct session *s, const char *what, struct err *e)
{
	FIRST_ANSWER(check_touch, s, what, e);
}

int session_parts_open_again(struct session *s, const struct session_params *p, struct err *e)
{
	FIRST_ANSWER(open_again, s, p, e);
}

void session_parts_opened(struct session *s, const struct session_params *p)
{
	CALL_PARTS(opened, s, p);
}

void session_parts_inherit(struct session *s, const struct session *from)
{
	CALL_PARTS(inherit, s, from);
}

void session_parts_setup_changed(struct session *s)
{
	CALL_PARTS(setup_changed, s);
}

void session_parts_forget_keys(struct session *s)
{
	CALL_PARTS(forget_keys, s);
}

void session_parts_put_status(struct jw *w, const struct session *s)
{
	CALL_PARTS(put_status, w, s);
}

/* Part after part, because that is the order of the members in the answer. */
void session_parts_put_opened(struct jw *w, const struct session *s)
{
	for (size_t i = 0; i < session_parts_count; i++) {
		if (session_parts[i]->put_opened)
			session_parts[i]->put_opened(w, s);
		if (session_parts[i]->put_status)
			session_parts[i]->put_status(w, s);
	}
}

void session_parts_put_record(struct jw *w, const struct session *s, enum record_place at)
{
	CALL_PARTS(put_record, w, s, at);
}

void session_parts_load_record(struct session *s, struct slice record)
{
	CALL_PARTS(load_record, s, record);
}

void session_parts_put_base(struct jw *w, const struct session *s)
{
	CALL_PARTS(put_base, w, s);
}

void session_parts_load_base(struct session *s, struct slice base)
{
	CALL_PARTS(load_base, s, base);
}

void session_parts_put_summary(struct jw *w, const struct session *s)
{
	CALL_PARTS(put_summary, w, s);
}

void session_parts_load_summary(struct session *s, struct slice summary)
{
	CALL_PARTS(load_summary, s, summary);
}

void session_parts_recall_event(struct session *s, unsigned kind, struct slice event)
{
	CALL_PARTS(recall_event, s, kind, event);
}

void session_parts_recall_turn_end(struct session *s, bool close)
{
	CALL_PARTS(recall_turn_end, s, close);
}

void session_parts_recovered(struct session *s)
{
	CALL_PARTS(recovered, s);
}

void session_parts_driver_ready(struct session *s, struct watcher *w)
{
	CALL_PARTS(driver_ready, s, w);
}

void session_parts_driver_gone(struct session *s, struct watcher *w)
{
	CALL_PARTS(driver_gone, s, w);
}

void session_parts_driver_mute(struct session *s, struct watcher *w)
{
	CALL_PARTS(driver_mute, s, w);
}

int session_parts_open_bounds(struct session *s, struct err *e)
{
	FIRST_ANSWER(open_bounds, s, e);
}

void session_parts_put_bounds(const struct session *s, struct proc_bounds *b)
{
	CALL_PARTS(put_bounds, s, b);
}

int session_parts_connect(struct session *s, struct err *e)
{
	FIRST_ANSWER(connect, s, e);
}

void session_parts_disconnect(struct session *s)
{
	CALL_PARTS(disconnect, s);
}

void session_parts_put_request(const struct session *s, struct harness_request *r)
{
	CALL_PARTS(put_request, s, r);
}

void session_parts_put_env(const struct session *s, struct harness_plan *plan)
{
	CALL_PARTS(put_env, s, plan);
}

void session_parts_put_files(const struct session *s, struct harness_plan *plan)
{
	CALL_PARTS(put_files, s, plan);
}

void session_parts_cancel_questions(struct session *s)
{
	CALL_PARTS(cancel_questions, s);
}

void session_parts_ask(struct session *s, const struct harness_ask *a)
{
	CALL_PARTS(ask, s, a);
}

void session_parts_unask(struct session *s, uint64_t id)
{
	CALL_PARTS(unask, s, id);
}

unsigned session_parts_rules_need(const struct session *s)
{
	unsigned need = 0;

	for (size_t i = 0; i < session_parts_count; i++)
		if (session_parts[i]->rules_need)
			need |= session_parts[i]->rules_need(s);
	return need;
}

/* Whether a hook says so of any part. */
#define ANY_PART(hook, ...)                                                                        \
	do {                                                                                       \
		for (size_t i = 0; i < session_parts_count; i++)                                   \
			if (session_parts[i]->hook && session_parts[i]->hook(__VA_ARGS__))         \
				return true;                                                       \
		return false;                                                                      \
	} while (0)

bool session_parts_explain_exit(struct session *s, const struct proc_status *st,
				struct turn_error *ret)
{
	ANY_PART(explain_exit, s, st, ret);
}

bool session_parts_meter_calls(const struct session *s)
{
	ANY_PART(meters_calls, s);
}

bool session_parts_delay_answer(const struct session *s)
{
	ANY_PART(delays_answer, s);
}

bool session_parts_preparing(const struct session *s)
{
	ANY_PART(is_preparing, s);
}

bool session_parts_hold_harness(const struct session *s)
{
	ANY_PART(holds_harness, s);
}

bool session_parts_have_job(const struct session *s)
{
	ANY_PART(has_job, s);
}

bool session_parts_working(const struct session *s)
{
	ANY_PART(is_working, s);
}

void session_parts_put_work(const struct session *s, struct store_work *ret)
{
	CALL_PARTS(put_work, s, ret);
}

void session_parts_closed(struct session *s, bool removed)
{
	CALL_PARTS(closed, s, removed);
}

void session_parts_shut(struct session *s)
{
	CALL_PARTS(shut, s);
}

void session_parts_drop(struct session *s)
{
	CALL_PARTS(drop, s);
}

void session_parts_free(struct session *s)
{
	CALL_PARTS(free, s);
}

void session_parts_stop(struct session *s)
{
	CALL_PARTS(stop, s);
}

/* --- the store ------------------------------------------------------------------------------------------ */

size_t store_parts_size(void)
{
	size_t size = parts_begin(sizeof(struct session_store));

	for (size_t i = 0; i < session_parts_count; i++)
		size += part_room(session_parts[i]->store_size);
	return size;
}

void store_parts_place(struct session_store *st)
{
	char *at = (char *)st + parts_begin(sizeof(*st));

	for (size_t i = 0; i < session_parts_count; i++) {
		st->parts[i] = at;
		at += part_room(session_parts[i]->store_size);
	}
}

void store_parts_configure(struct session_store *st, const struct store_config *cfg)
{
	CALL_PARTS(store_configure, st, cfg);
}

int store_parts_open(struct session_store *st, const struct store_config *cfg, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < session_parts_count; i++)
		if (session_parts[i]->store_open)
			r = session_parts[i]->store_open(st, cfg, e);
	return r;
}

void store_parts_begin(struct session_store *st)
{
	CALL_PARTS(store_begin, st);
}

void store_parts_stop(struct session_store *st)
{
	CALL_PARTS(store_stop, st);
}

void store_parts_free(struct session_store *st)
{
	CALL_PARTS(store_free, st);
}

void store_parts_totals(const struct session_store *st, struct store_totals *ret)
{
	CALL_PARTS(store_totals, st, ret);
}

void store_parts_removed(struct session_store *st, const char *id)
{
	CALL_PARTS(store_removed, st, id);
}

void store_parts_tree_removed(struct session_store *st, const char *path)
{
	CALL_PARTS(store_tree_removed, st, path);
}

void store_parts_idle(struct session_store *st)
{
	CALL_PARTS(store_idle, st);
}
