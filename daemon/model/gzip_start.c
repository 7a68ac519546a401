#include "model/gzip_start.h"

#include "base/util.h"

/* ID1 and ID2 (RFC 1952, section 2.3.1). */
static const struct slice magic = { "\x1f\x8b", 2 };

enum gzip_start_state gzip_start_take(struct gzip_start *g, struct slice piece)
{
	size_t n = MIN(piece.n, magic.n - g->seen.n);

	if (g->state != GZIP_START_OPEN || !n)
		return g->state;
	if (memcmp(piece.p, magic.p + g->seen.n, n) != 0) {
		g->state = GZIP_START_NO;
		return g->state;
	}
	/* seen points to the constant, as the piece does not outlive this call. */
	g->seen = (struct slice){ magic.p, g->seen.n + n };
	if (g->seen.n == magic.n)
		g->state = GZIP_START_YES;
	return g->state;
}
