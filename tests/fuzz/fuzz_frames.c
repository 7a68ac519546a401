/* Messages in lines with other bytes: what is taken is a message of valid JSON, and a message alone in its line is found. */
#include "fuzz.h"

#include "base/format/utf8.h"
#include "proc/output/frames.h"

struct found {
	struct slice line;
	size_t n;
	unsigned answers; /* what take returns, bit by bit */
};

static int take(void *ctx, struct slice frame)
{
	struct found *f = ctx;

	FUZZ_CHECK(is_json(frame, J_OBJECT));
	FUZZ_CHECK(utf8_valid(frame) && !memchr(frame.p, '\n', frame.n));
	if (utf8_valid(f->line))
		FUZZ_CHECK(slice_inside(frame, f->line));
	return f->answers >> (f->n++ % 8) & 1;
}

static void with_prefix(struct slice line, const char *prefix)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct found f = { .answers = 0 };

	buf_puts(&b, prefix);
	buf_add_slice(&b, line);
	f.line = buf_slice(&b);
	FUZZ_CHECK(frames_take(f.line, take, &f) == FRAMES_TAKEN && f.n == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct found f = { .answers = size ? data[0] : 0 };
	enum frames_result r;

	if (!size || memchr(data, '\n', size))
		return 0;
	f.line = exact(data + 1, size - 1);
	r = frames_take(f.line, take, &f);
	FUZZ_CHECK(r != FRAMES_TAKEN || f.n);
	FUZZ_CHECK(r == FRAMES_TAKEN || r == FRAMES_BROKEN || r == FRAMES_NONE);
	f = (struct found){ .line = f.line };
	if (is_json(f.line, J_OBJECT) && frames_take(f.line, take, &f) == FRAMES_TAKEN &&
	    f.n == 1) {
		with_prefix(f.line, "\x1b[0m");
		with_prefix(f.line, "\xef\xbb\xbf");
		with_prefix(f.line, "text\r");
	}
	exact_free(&f.line);
	return 0;
}
