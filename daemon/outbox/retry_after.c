#include "outbox/retry_after.h"

#include "base/format/digits.h"
#include "base/util.h"
#include "json/jstr.h"

#include <stdlib.h>

uint64_t retry_after_of(struct slice headers, uint64_t max_ms)
{
	_cleanup_(freep) char *text = NULL;
	uint64_t secs = 0;

	if (jstr_decode(jobj_get(headers, "retry-after"), 16, &text) == 0)
		u64_parse(slice_of(text), &secs);
	return MIN(secs, max_ms / 1000) * 1000;
}
