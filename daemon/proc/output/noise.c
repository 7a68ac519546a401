#include "proc/output/noise.h"

#include "base/util.h"

#define MINUTE_MS 60000

bool noise_skipped(struct noise *n, size_t bytes, uint64_t now_ms)
{
	uint64_t weight = 1 + bytes / KIB;

	if (now_ms - n->minute_began_ms >= MINUTE_MS) {
		n->minute_began_ms = now_ms;
		n->minute = 0;
	}
	n->lines.skipped++;
	n->minute += weight;
	n->all += weight;
	return n->minute <= NOISE_MINUTE_MAX && n->all <= NOISE_MAX;
}

bool noise_shown(struct noise *n, uint64_t now_ms)
{
	return bucket_take(&n->log, now_ms, LOG_BURST, LOG_EACH_MS);
}

void noise_text_set(struct noise_text *t, struct slice line)
{
	size_t n = MIN(line.n, sizeof(t->text) - 1);

	if (n)
		memcpy(t->text, line.p, n);
	t->text[n] = '\0';
	for (size_t i = 0; i < n; i++)
		if (!t->text[i])
			t->text[i] = ' ';
}
