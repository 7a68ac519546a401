#include "tree/draft_head.h"

#include "base/format/digits.h"

#define HEAD "acpd-draft 1 "

void draft_head_put(struct buf *b, const struct draft_head *h)
{
	buf_printf(b, HEAD "%llu %llu\n", (unsigned long long)h->generation,
		   (unsigned long long)h->applied);
}

static bool draft_head_number(struct slice *text, uint64_t *ret)
{
	return u64_take(text, U64_DIGITS, ret) && *ret != UINT64_MAX;
}

bool draft_head_take(struct slice *text, struct draft_head *ret)
{
	*ret = (struct draft_head){ 0 };
	if (!slice_skip(text, HEAD) || !draft_head_number(text, &ret->generation))
		return false;
	if (slice_skip(text, " ") && !draft_head_number(text, &ret->applied))
		return false;
	return slice_skip(text, "\n");
}
