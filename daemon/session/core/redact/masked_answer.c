/*
 * masked_answer.c - masks a streamed model answer whose secrets can be split over events.
 *
 * Events wait in one list, in order. Each refers to pieces, and each piece belongs to one text.
 * Each search of a text resolves its pieces from the front; an event with no waiting piece is
 * released once all earlier events are. So output order never changes. `held` counts all buffered
 * bytes. Above ANSWER_HELD_MAX the oldest event is released with "***" in place of a possible
 * secret, rather than late or unmasked.
 */
#include "session/core/redact/masked_answer.h"

#include "base/util.h"
#include "base/limits.h"
#include "json/jscan.h"
#include "session/core/redact/answer_strings.h"

#define NO_STREAM 0   /* of a piece that is whole by itself */
#define TEXT_STREAM 2 /* data of events that are no JSON; those of strings are odd */

struct answer_event {
	struct list link;
	struct buf raw;
	struct answer_piece **pieces; /* in any order */
	size_t n;
	unsigned waiting; /* of the pieces */
};

/* A part of an event that may come out otherwise. */
struct answer_piece {
	struct list link; /* of its text, while it waits */
	struct answer_event *event;
	size_t at, n, left; /* left: of n, that waits */
	bool changed;
	struct buf out;
};

/* One whose end may be the beginning of a secret. */
struct answer_text {
	struct list link;
	uint64_t stream;
	bool json;
	struct buf raw; /* that end */
	size_t gone;	/* of raw, which has come out as "***" */
	struct list pieces;
};

/* --- events ------------------------------------------------------------------------------------------------------ */

static void event_free(struct answer_event *e)
{
	list_del(&e->link);
	for (size_t i = 0; i < e->n; i++) {
		/* A piece that still waits is in the list of its text. */
		list_del(&e->pieces[i]->link);
		buf_done(&e->pieces[i]->out);
		free(e->pieces[i]);
	}
	free(e->pieces);
	buf_done(&e->raw);
	free(e);
}

static int by_place(const void *a, const void *b)
{
	const struct answer_piece *const *x = a, *const *y = b;

	return (*x)->at < (*y)->at ? -1 : (*x)->at > (*y)->at;
}

static void answer_put_event(const struct answer_event *e, struct buf *ret)
{
	struct slice raw = buf_slice(&e->raw);
	size_t done = 0;

	if (e->n)
		qsort(e->pieces, e->n, sizeof(struct answer_piece *), by_place);
	for (size_t i = 0; i < e->n; i++) {
		const struct answer_piece *p = e->pieces[i];

		if (!p->changed || p->at < done)
			continue;
		buf_add(ret, raw.p + done, p->at - done);
		buf_add_slice(ret, buf_slice(&p->out));
		done = p->at + p->n;
	}
	buf_add(ret, raw.p + done, raw.n - done);
}

/* Those that no longer wait, in order. */
static void answer_release(struct masked_answer *a, struct buf *ret)
{
	while (!a->stopped && !list_empty(&a->events)) {
		struct answer_event *e = list_first(&a->events, struct answer_event, link);

		if (e->waiting)
			return;
		a->held -= buf_len(&e->raw);
		answer_put_event(e, ret);
		event_free(e);
	}
}

static void text_free(struct masked_answer *a, struct answer_text *t)
{
	a->held -= buf_len(&t->raw);
	a->ntexts--;
	list_del(&t->link);
	/* Unlinked only: pieces belong to their events. */
	while (!list_empty(&t->pieces))
		list_del(t->pieces.next);
	buf_done(&t->raw);
	free(t);
}

static void drop_all(struct masked_answer *a)
{
	while (!list_empty(&a->texts))
		text_free(a, list_first(&a->texts, struct answer_text, link));
	while (!list_empty(&a->events))
		event_free(list_first(&a->events, struct answer_event, link));
	buf_done(&a->open);
	a->held = 0;
}

/* --- texts ------------------------------------------------------------------------------------------------------- */

/* What is known of a text, up to done, is given to the pieces it came in. */
struct settling {
	struct answer_text *text;
	size_t done;
};

static void pass(struct settling *s, size_t end, bool shown)
{
	while (s->done < end) {
		struct answer_piece *p = list_first(&s->text->pieces, struct answer_piece, link);
		size_t n = MIN(end - s->done, p->left);

		/* Each piece gets the part of the result that came in it, so that the events keep their shares. */
		if (shown)
			buf_add(&p->out, buf_slice(&s->text->raw).p + s->done, n);
		p->changed |= !shown;
		s->done += n;
		p->left -= n;
		if (p->left)
			continue;
		list_del(&p->link);
		p->event->waiting--;
	}
}

static void hide_part(void *ctx, size_t start, size_t end)
{
	struct settling *s = ctx;

	pass(s, start, true);
	/* The mask goes to the piece in which the secret begins. Later pieces lose their part. */
	if (end > s->done)
		buf_puts(&list_first(&s->text->pieces, struct answer_piece, link)->out, MASK);
	pass(s, end, false);
}

/* last: no more of it comes. */
static void settle(struct masked_answer *a, const struct mask *m, struct answer_text *t, bool last)
{
	struct settling s = { t, t->gone };
	size_t known = mask_walk(m, buf_slice(&t->raw), t->json, last, hide_part, &s);

	pass(&s, known, true);
	/* What hide_beginnings has replaced stays in raw, so that the rest of its secret is recognized. */
	t->gone = s.done - known;
	buf_consume(&t->raw, known);
	a->held -= known;
	if (!buf_len(&t->raw))
		text_free(a, t);
}

/* The oldest event may wait no longer. */
static void hide_beginnings(struct masked_answer *a)
{
	struct answer_event *e = list_first(&a->events, struct answer_event, link);

	for (size_t i = 0; i < e->n; i++) {
		struct answer_piece *p = e->pieces[i];

		list_each(t, &a->texts, struct answer_text, link)
			/* Only a text whose first waiting piece is in this event holds the event back. */
			if (p->left && t->pieces.next == &p->link) {
				struct settling s = { t, t->gone };

				hide_part(&s, 0, buf_len(&t->raw));
				t->gone = s.done;
			}
	}
}

static struct answer_text *answer_text_find(struct masked_answer *a, uint64_t stream, bool json)
{
	struct answer_text *t;

	list_each(old, &a->texts, struct answer_text, link)
		if (old->stream == stream)
			return old;
	t = new0(struct answer_text);
	t->stream = stream;
	t->json = json;
	t->raw.max = 2 * ANSWER_HELD_MAX;
	list_init(&t->link);
	list_init(&t->pieces);
	list_add_tail(&a->texts, &t->link);
	a->stopped |= ++a->ntexts > ANSWER_STREAMS_MAX;
	return t;
}

/* --- an event is taken apart ------------------------------------------------------------------------------------------ */

struct taking {
	struct masked_answer *a;
	const struct mask *m;
	struct answer_event *e;
	struct slice raw;
	struct answer_strings strings;
	bool json, plain; /* what its data is; neither: there was none so far */
	bool broken;	  /* this line is no JSON by itself */
};

static struct answer_piece *piece_add(struct taking *x, size_t at, size_t n)
{
	struct answer_piece *p = new0(struct answer_piece);

	p->event = x->e;
	p->at = at;
	p->n = n;
	list_init(&p->link);
	*GROW(x->e->pieces, x->e->n) = p;
	x->a->stopped |= x->e->n > ANSWER_PIECES_MAX;
	return p;
}

static void take_whole(struct taking *x, size_t at, size_t n, bool json)
{
	struct slice text = { x->raw.p + at, n };
	struct answer_piece *p;

	/* A text without a continuation: its end cannot become a secret later. */
	if (x->a->stopped || !(mask_find(x->m, text) & MASK_HIT))
		return;
	p = piece_add(x, at, n);
	p->changed = true;
	mask_put(x->m, text, json, 0, NULL, &p->out);
}

static void take_piece_of(struct taking *x, uint64_t stream, size_t at, size_t n, bool json)
{
	struct answer_piece *p;
	struct answer_text *t;

	if (x->a->stopped || !n)
		return;
	p = piece_add(x, at, n);
	p->left = n;
	x->e->waiting++;
	t = answer_text_find(x->a, stream, json);
	list_add_tail(&t->pieces, &p->link);
	x->a->stopped |= buf_add(&t->raw, x->raw.p + at, n) < 0;
	x->a->held += n;
	settle(x->a, x->m, t, false);
}

static void on_whole(void *ctx, size_t at, size_t n)
{
	take_whole(ctx, at, n, true);
}

static void on_between(void *ctx, size_t at, size_t n)
{
	struct taking *x = ctx;

	if (x->broken)
		take_whole(x, at, n, false);
}

static void on_tokens(void *ctx, size_t at, size_t n)
{
	struct taking *x = ctx;
	struct answer_piece *p = piece_add(x, at, n);

	p->changed = true;
	buf_puts(&p->out, x->raw.p[at] == '[' ? "[]" : "null");
}

static const struct answer_strings_ops strings_ops = { on_whole, on_between, on_tokens };

static bool is_json_text(struct slice s)
{
	while (s.n && strchr(" \t", s.p[0]) && s.p[0]) {
		s.p++;
		s.n--;
	}
	return slice_starts(s, "{") || (slice_starts(s, "[") && jscan_value(s, NULL) == JSCAN_OK);
}

static void answer_take_data(struct taking *x, size_t at, size_t n)
{
	struct slice value = { x->raw.p + at, n };

	if (!x->json && !x->plain) {
		x->json = is_json_text(value);
		x->plain = !x->json;
	}
	if (x->plain) {
		take_piece_of(x, TEXT_STREAM, at, n, false);
		return;
	}
	x->broken = jscan_value(value, NULL) != JSCAN_OK;
	answer_strings_take(&x->strings, x->raw.p, at, at + n);
}

/* The next line without its end, as offsets. */
static bool next_line(struct slice raw, size_t *at, size_t *start, size_t *n)
{
	*start = *at;
	/* CR LF gives an empty line in between, which has no field and changes nothing. */
	while (*at < raw.n && raw.p[*at] != '\n' && raw.p[*at] != '\r')
		++*at;
	*n = *at - *start;
	return (*at)++ < raw.n || *n;
}

/* True: it is one of data, whose value is what remains. */
static bool take_field(struct slice raw, size_t *at, size_t *n)
{
	struct slice line = { raw.p + *at, *n };

	/* A byte order mark may begin the stream (HTML standard, "Server-sent events"). */
	if (!*at)
		slice_skip(&line, "\xef\xbb\xbf");
	if (!slice_skip(&line, "data:"))
		return false;
	slice_skip(&line, " ");
	*at = (size_t)(line.p - raw.p);
	*n = line.n;
	return true;
}

/* Any part of a secret, or what may become one. */
static bool is_touched(const struct masked_answer *a, const struct mask *m, struct slice raw)
{
	size_t next = 0, at, n;

	if (!list_empty(&a->texts) || mask_find(m, raw))
		return true;
	while (a->frames.form == ANSWER_EVENTS && next_line(raw, &next, &at, &n))
		if (take_field(raw, &at, &n) && mask_find(m, (struct slice){ raw.p + at, n }))
			return true;
	return false;
}

static void answer_take_lines(struct taking *x)
{
	size_t next = 0, at, n;

	while (next_line(x->raw, &next, &at, &n)) {
		if (take_field(x->raw, &at, &n))
			answer_take_data(x, at, n);
		else
			take_whole(x, at, n, false);
	}
}

static void take_apart(struct masked_answer *a, const struct mask *m, struct answer_event *e)
{
	struct taking x = { .a = a, .m = m, .e = e, .raw = buf_slice(&e->raw) };

	answer_strings_begin(&x.strings, &strings_ops, &x);
	x.json = a->frames.form == ANSWER_ARRAY;
	if (x.json)
		answer_take_data(&x, 0, x.raw.n);
	else
		answer_take_lines(&x);
	answer_strings_end(&x.strings);
	for (size_t i = 0; i < x.strings.n; i++)
		take_piece_of(&x, x.strings.list[i].stream, x.strings.list[i].at,
			      x.strings.list[i].n, true);
	free(x.strings.list);
}

/* --- from outside ----------------------------------------------------------------------------------------------------- */

struct masked_answer *masked_answer_new(void)
{
	struct masked_answer *a = new0(struct masked_answer);

	list_init(&a->events);
	list_init(&a->texts);
	return a;
}

struct masked_answer *masked_answer_free(struct masked_answer *a)
{
	if (!a)
		return NULL;
	drop_all(a);
	free(a);
	return NULL;
}

/* What is open is an event. */
static void end_event(struct masked_answer *a, const struct mask *m, struct buf *ret)
{
	bool touched = is_touched(a, m, buf_slice(&a->open));
	struct answer_event *e;

	/* The usual case: nothing is parsed, and the bytes go out as they came. */
	if (!touched && list_empty(&a->events)) {
		buf_add_slice(ret, buf_slice(&a->open));
		a->held -= buf_len(&a->open);
		buf_reset(&a->open);
		return;
	}
	e = new0(struct answer_event);
	list_add_tail(&a->events, &e->link);
	e->raw = a->open;
	a->open = (struct buf){ 0 };
	if (touched)
		take_apart(a, m, e);
}

/* As it stands, but for what may be the beginning of a secret, unless it is the last. */
static void pass_open(struct masked_answer *a, const struct mask *m, bool last, struct buf *ret)
{
	size_t tail = buf_len(&a->open);

	mask_put(m, buf_slice(&a->open), false, 0, last ? NULL : &tail, ret);
	buf_consume(&a->open, tail);
	a->held -= tail;
}

static void bound(struct masked_answer *a, struct buf *ret)
{
	while (!a->stopped && a->held > ANSWER_HELD_MAX && !list_empty(&a->events)) {
		hide_beginnings(a);
		answer_release(a, ret);
	}
	a->stopped |= a->held > ANSWER_HELD_MAX || a->open.failed;
	/* Nothing that is held may be sent unmasked, so it is dropped. */
	if (a->stopped)
		drop_all(a);
}

static size_t add_some(struct masked_answer *a, const struct mask *m, struct slice bytes,
		       struct buf *ret)
{
	bool ends;
	size_t n = answer_frames_take(&a->frames, bytes, &ends);

	buf_add(&a->open, bytes.p, n);
	a->held += n;
	/* Without a mask, and with nothing that waits, bytes need not wait for the end of their event. */
	if (a->frames.form == ANSWER_OTHER || (!m && a->held == buf_len(&a->open)))
		pass_open(a, m, false, ret);
	else if (ends)
		end_event(a, m, ret);
	return n;
}

void masked_answer_add(struct masked_answer *a, const struct mask *m, struct slice bytes,
		       struct buf *ret)
{
	while (bytes.n && !a->stopped) {
		size_t n = add_some(a, m, bytes, ret);

		answer_release(a, ret);
		bound(a, ret);
		bytes = slice_after(bytes, n);
	}
}

void masked_answer_end(struct masked_answer *a, const struct mask *m, struct buf *ret)
{
	if (a->frames.form == ANSWER_OTHER)
		pass_open(a, m, true, ret);
	else if (buf_len(&a->open))
		end_event(a, m, ret);
	list_each(t, &a->texts, struct answer_text, link)
		settle(a, m, t, true);
	answer_release(a, ret);
	bound(a, ret);
}
