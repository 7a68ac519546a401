#include "unpack/bytes/deflated.h"

int deflated_open(struct deflated *d)
{
	return inflater_open(&d->i, inflater_choose());
}

void deflated_close(struct deflated *d)
{
	inflater_close(&d->i);
}

static int take(struct deflated *d, struct feed *f, struct ring *r, const uint8_t *p, size_t n)
{
	if (feed_made(f, n) < 0)
		return -1;
	d->crc = d->i.ops->crc(d->crc, p, n);
	d->made += n;
	ring_put(r, n);
	return 0;
}

/* One step; its answer, if it was not the last one, is *more. */
static enum deflated_end advance(struct deflated *d, struct feed *f, struct ring *r, uint64_t most,
				 bool *more)
{
	size_t room, made;
	uint8_t spare, *to = ring_space(r, &room);
	ssize_t n = feed_fill(f);
	struct inflater_io io;
	enum inflated done;

	if (!to || n < 0)
		return to ? DEFLATED_REFUSED : DEFLATED_LEFT;
	room = (size_t)MIN((uint64_t)room, most - d->made);
	/* one byte more than allowed shows that it has too many */
	io = (struct inflater_io){ f->in + f->at, (size_t)n, room ? to : &spare, room ? room : 1 };
	made = io.out_n;
	done = inflater_step(&d->i, &io);
	f->at = f->have - io.in_n;
	made -= io.out_n;
	if (made > room)
		return DEFLATED_LONG;
	if (take(d, f, r, to, made) < 0)
		return DEFLATED_REFUSED;
	*more = done == INFLATED_MORE && (n || made);
	if (*more || done == INFLATED_END)
		return DEFLATED_WHOLE;
	return done == INFLATED_DAMAGED ? DEFLATED_DAMAGED : DEFLATED_CUT;
}

enum deflated_end deflated_read(struct deflated *d, struct feed *f, struct ring *r, uint64_t most)
{
	enum deflated_end end;
	bool more;

	inflater_reset(&d->i);
	d->crc = 0;
	d->made = 0;
	do {
		more = false;
		end = advance(d, f, r, most, &more);
	} while (more);
	return end;
}
