#include "http/range.h"

#include "base/format/digits.h"
#include "base/util.h"
#include "http/query.h"

#include <errno.h>

int content_range_parse(struct slice text, struct content_range *ret)
{
	struct slice range, first;
	uint64_t last;

	if (!slice_skip(&text, "bytes ") || !slice_cut(&text, '/', &range) ||
	    !u64_parse(text, &ret->total))
		return -EINVAL;
	ret->first = ret->total;
	ret->count = 0;
	if (slice_is(range, "*"))
		return 0;
	if (!slice_cut(&range, '-', &first) || !u64_parse(first, &ret->first) ||
	    !u64_parse(range, &last) || last < ret->first || last >= ret->total)
		return -EINVAL;
	ret->count = last - ret->first + 1;
	return 0;
}

int range_parse(struct slice text, uint64_t size, uint64_t *first, uint64_t *count)
{
	uint64_t last = UINT64_MAX;
	struct slice from;

	*first = 0;
	*count = size;
	if (!slice_skip(&text, "bytes=") || !slice_cut(&text, '-', &from) ||
	    !u64_parse(from, first) || (text.n && (!u64_parse(text, &last) || last < *first))) {
		*first = 0;
		return 0;
	}
	if (*first >= size)
		return -ERANGE;
	*count = MIN(last, size - 1) - *first + 1;
	return 1;
}
