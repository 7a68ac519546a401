/*
 * myers.c - Myers' linear-space algorithm: a box of the edit graph is cut at a point of a shortest
 * path, then both parts.
 *
 * Its time is the size times the number of differences, quadratic for two long texts that share little. Two bounds of
 * base/limits.h hold against that. A search that has not met after DIFF_BOX_COST_MAX differences cuts at the point
 * furthest from its corner instead: still right, perhaps not shortest. And all searches of one comparison together
 * take DIFF_WORK_MAX steps; what is undecided then counts as changed. Both count steps and not time, so that the
 * result is always the same.
 *
 * The two fronts are arrays indexed by diagonal, in which only every second element is valid.
 * DIFF_BOX_COST_MAX bounds their size, independent of the length of the texts. The recursion enters
 * only the smaller part and loops on the larger, so that its depth is logarithmic. When the work
 * budget is used up, the remaining box counts as changed: correct, but not minimal.
 */
#include "diff/myers.h"

#include "base/limits.h"
#include "base/util.h"

/* One direction of a search: at[d] is how far the ways on diagonal d (x - y) got; the diagonals seen are lo..hi. */
struct front {
	int32_t *at; /* points at the diagonal of the corner, mid */
	int32_t mid, lo, hi;
};

struct box {
	int32_t x, y, x_end, y_end;
};

struct point {
	int32_t x, y;
};

struct myers_search {
	const struct myers_side *a, *b;
	struct front ahead, back;
	int64_t work; /* steps left */
};

#define FRONT_SLOTS (2 * DIFF_BOX_COST_MAX + 3)

static int32_t front_get(const struct front *f, int32_t d)
{
	return f->at[d - f->mid];
}

static void front_set(struct front *f, int32_t d, int32_t x)
{
	f->at[d - f->mid] = x;
}

static void front_start(struct front *f, int32_t mid, int32_t x)
{
	f->mid = f->lo = f->hi = mid;
	f->at[0] = x;
}

/* One more difference: a diagonal more on each side, or, at the edge of the box, one less. none: what loses every
 * comparison. */
static void front_widen(struct front *f, const struct box *q, int32_t none)
{
	if (f->lo > q->x - q->y_end)
		front_set(f, --f->lo - 1, none);
	else
		f->lo++;
	if (f->hi < q->x_end - q->y)
		front_set(f, ++f->hi + 1, none);
	else
		f->hi--;
}

static bool front_has(const struct front *f, int32_t d)
{
	return d >= f->lo && d <= f->hi;
}

static bool myers_same(const struct myers_search *s, int32_t x, int32_t y)
{
	return s->a->id[x] == s->b->id[y];
}

/* Both directions begin with fronts of different parity if odd; then they can only meet in a forward step, else in
 * a backward one. */
static bool step_ahead(struct myers_search *s, const struct box *q, bool odd, struct point *meet)
{
	struct front *f = &s->ahead;

	front_widen(f, q, -1);
	for (int32_t d = f->hi; d >= f->lo; d -= 2) {
		int32_t right = front_get(f, d - 1), down = front_get(f, d + 1);
		int32_t x = right >= down ? right + 1 : down, y = x - d, from = x;

		while (x < q->x_end && y < q->y_end && myers_same(s, x, y)) {
			x++;
			y++;
		}
		s->work -= 1 + x - from;
		front_set(f, d, x);
		if (odd && front_has(&s->back, d) && front_get(&s->back, d) <= x) {
			*meet = (struct point){ x, y };
			return true;
		}
	}
	return false;
}

static bool step_back(struct myers_search *s, const struct box *q, bool odd, struct point *meet)
{
	struct front *f = &s->back;

	front_widen(f, q, INT32_MAX);
	for (int32_t d = f->hi; d >= f->lo; d -= 2) {
		int32_t up = front_get(f, d - 1), left = front_get(f, d + 1);
		int32_t x = up < left ? up : left - 1, y = x - d, from = x;

		while (x > q->x && y > q->y && myers_same(s, x - 1, y - 1)) {
			x--;
			y--;
		}
		s->work -= 1 + from - x;
		front_set(f, d, x);
		if (!odd && front_has(&s->ahead, d) && x <= front_get(&s->ahead, d)) {
			*meet = (struct point){ x, y };
			return true;
		}
	}
	return false;
}

/* The point furthest from its corner that either direction has reached. */
static struct point furthest(const struct myers_search *s, const struct box *q)
{
	struct point best = { q->x, q->y };
	int64_t gain = 0;

	for (int32_t d = s->ahead.hi; d >= s->ahead.lo; d -= 2) {
		int32_t x = MIN(front_get(&s->ahead, d), MIN(q->x_end, q->y_end + d));
		int64_t got = (int64_t)(x - q->x) + (x - d - q->y);

		if (got > gain) {
			gain = got;
			best = (struct point){ x, x - d };
		}
	}
	for (int32_t d = s->back.hi; d >= s->back.lo; d -= 2) {
		int32_t x = MAX(front_get(&s->back, d), MAX(q->x, q->y + d));
		int64_t got = (int64_t)(q->x_end - x) + (q->y_end - (x - d));

		if (got > gain) {
			gain = got;
			best = (struct point){ x, x - d };
		}
	}
	return best;
}

/* Where to cut a box whose first elements differ, and whose last. Neither part is the whole box. */
static struct point myers_cut(struct myers_search *s, const struct box *q)
{
	bool odd = ((q->x - q->y) ^ (q->x_end - q->y_end)) & 1;
	struct point meet;

	front_start(&s->ahead, q->x - q->y, q->x);
	front_start(&s->back, q->x_end - q->y_end, q->x_end);
	for (int cost = 0; cost < DIFF_BOX_COST_MAX && s->work > 0; cost++)
		if (step_ahead(s, q, odd, &meet) || step_back(s, q, odd, &meet))
			return meet;
	return furthest(s, q);
}

static void myers_mark(const struct myers_side *side, int32_t from, int32_t to)
{
	for (int32_t i = from; i < to; i++)
		side->changed[side->line[i]] = true;
}

static void myers_shrink(const struct myers_search *s, struct box *q)
{
	while (q->x < q->x_end && q->y < q->y_end && myers_same(s, q->x, q->y)) {
		q->x++;
		q->y++;
	}
	while (q->x < q->x_end && q->y < q->y_end && myers_same(s, q->x_end - 1, q->y_end - 1)) {
		q->x_end--;
		q->y_end--;
	}
}

static int64_t box_size(const struct box *q)
{
	return (int64_t)(q->x_end - q->x) + (q->y_end - q->y);
}

/* Recurses into the smaller part only: no deeper than the logarithm of the size. */
static void myers_compare_box(struct myers_search *s, struct box q)
{
	for (;;) {
		struct box first, second;
		struct point p;

		/* cut() relies on it: with equal elements at a corner a part could be as large as
		 * the box. */
		myers_shrink(s, &q);
		if (q.x == q.x_end || q.y == q.y_end || s->work <= 0)
			break;
		p = myers_cut(s, &q);
		first = (struct box){ q.x, q.y, p.x, p.y };
		second = (struct box){ p.x, p.y, q.x_end, q.y_end };
		if (box_size(&first) < box_size(&second)) {
			myers_compare_box(s, first);
			q = second;
		} else {
			myers_compare_box(s, second);
			q = first;
		}
	}
	myers_mark(s->a, q.x, q.x_end);
	myers_mark(s->b, q.y, q.y_end);
}

int myers_compare(const struct myers_side *a, const struct myers_side *b)
{
	_cleanup_(freep) int32_t *slots = calloc(2 * FRONT_SLOTS, sizeof(*slots));
	struct myers_search s = { .a = a, .b = b, .work = DIFF_WORK_MAX };

	if (!slots)
		return -ENOMEM;
	s.ahead.at = slots + FRONT_SLOTS / 2;
	s.back.at = slots + FRONT_SLOTS + FRONT_SLOTS / 2;
	myers_compare_box(&s, (struct box){ 0, 0, (int32_t)a->n, (int32_t)b->n });
	return 0;
}
