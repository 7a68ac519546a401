/*
 * lanes.c - the queue of a receiver: a lane for each session, ready lanes in turn, delayed lanes by
 * due time.
 *
 * A lane is in `ready`, in `late`, or in neither while it sends. Therefore each session has one
 * request at a time, and its events stay in order. A lane exists while it has events or sends. A
 * lane is taken from the head of `ready` and returned to its tail, which shares the receiver among
 * sessions. The lane of the gap is in no list: lanes_next checks it first.
 */
#include "outbox/receiver_internal.h"

#include "base/format/crc32c.h"

void lanes_init(struct lanes *l)
{
	for (size_t i = 0; i < LANE_BUCKETS; i++)
		list_init(&l->bucket[i]);
	list_init(&l->ready);
	list_init(&l->late);
	list_init(&l->gap.same);
	list_init(&l->gap.link);
	list_init(&l->gap.events);
}

static void lane_free(struct lane *lane)
{
	list_del(&lane->same);
	list_del(&lane->link);
	free_each(lane->session, lane);
}

void lanes_done(struct lanes *l)
{
	for (size_t i = 0; i < LANE_BUCKETS; i++)
		list_each(lane, &l->bucket[i], struct lane, same)
			lane_free(lane);
}

struct spooled *lane_first(const struct lane *lane)
{
	return list_empty(&lane->events) ? NULL : list_first(&lane->events, struct spooled, queued);
}

static struct lane *lane_find(struct lanes *l, struct slice session)
{
	struct list *bucket = &l->bucket[crc32c(0, session.p, session.n) % LANE_BUCKETS];
	struct lane *lane;

	list_each(x, bucket, struct lane, same)
		if (slice_is(session, x->session))
			return x;
	lane = new0(struct lane);
	lane->session = xstrndup(session.p, session.n);
	list_init(&lane->events);
	list_init(&lane->link);
	list_add_tail(bucket, &lane->same);
	list_add_tail(&l->ready, &lane->link);
	return lane;
}

void lanes_add(struct lanes *l, struct spooled *x, struct slice session)
{
	struct lane *lane = lane_find(l, session);

	x->owner = lane;
	list_add_tail(&lane->events, &x->queued);
}

void lanes_remove(struct lanes *l _unused_, struct spooled *x, bool sending)
{
	struct lane *lane = x->owner;

	list_del(&x->queued);
	/* A lane that sends is in use by its request: lanes_return frees it. */
	if (list_empty(&lane->events) && !sending)
		lane_free(lane);
}

/* Late ones stand in the order of their time. */
static void make_late(struct lanes *l, struct lane *lane)
{
	struct list *before = l->late.prev;

	/* From the tail, as a new due time is mostly the latest. */
	while (before != &l->late && list_entry(before, struct lane, link)->due > lane->due)
		before = before->prev;
	list_add_tail(before->next, &lane->link);
}

void lanes_return(struct lanes *l, struct lane *lane, bool gap)
{
	if (lane == &l->gap ? !gap : list_empty(&lane->events)) {
		lane->due = lane->wait_ms = 0;
		if (lane != &l->gap)
			lane_free(lane);
	} else if (lane == &l->gap) {
		return; /* lanes_next looks at it */
	} else if (lane->due) {
		make_late(l, lane);
	} else {
		list_add_tail(&l->ready, &lane->link);
	}
}

static struct lane *first_late(const struct lanes *l)
{
	return list_empty(&l->late) ? NULL : list_first(&l->late, struct lane, link);
}

static void make_ready(struct lanes *l, struct lane *lane)
{
	list_del(&lane->link);
	list_add_tail(&l->ready, &lane->link);
	lane->due = 0;
}

uint64_t lanes_wake(struct lanes *l, uint64_t now)
{
	struct lane *lane;
	uint64_t next = l->gap.due > now ? l->gap.due : 0;

	while ((lane = first_late(l)) && lane->due <= now)
		make_ready(l, lane);
	return !lane ? next : next ? MIN(next, lane->due) : lane->due;
}

void lanes_wake_all(struct lanes *l)
{
	struct lane *lane;

	while ((lane = first_late(l)))
		make_ready(l, lane);
	l->gap.due = 0;
}

struct lane *lanes_next(struct lanes *l, bool gap, uint64_t now)
{
	struct lane *lane;

	if (gap && l->gap.due <= now)
		return &l->gap;
	if (list_empty(&l->ready))
		return NULL;
	lane = list_first(&l->ready, struct lane, link);
	list_del(&lane->link);
	return lane;
}
