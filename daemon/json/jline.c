#include "json/jline.h"

#include "json/jscan.h"

#include <stdlib.h>

/* One step of a path: a member's name, or an index. */
struct jline_step {
	struct slice name;
	size_t index;
	bool element;
};

static bool next_step(const char **path, struct jline_step *ret)
{
	const char *p = *path;
	char *end;

	p += *p == '.';
	if (!*p)
		return false;
	ret->element = *p == '[';
	if (ret->element) {
		ret->index = strtoul(p + 1, &end, 10);
		*path = end + (*end == ']');
		return true;
	}
	ret->name = (struct slice){ p, strcspn(p, ".[") };
	*path = p + ret->name.n;
	return true;
}

/* begin: where the member begins, its name included. */
static bool take_step(const struct jline_step *s, struct jval *v, const char **begin)
{
	struct slice key = SLICE_NONE;
	struct jval item;
	struct jiter it;

	if (!jiter_init(&it, *v) || it.object == s->element)
		return false;
	for (size_t i = 0; jiter_next(&it, &key, &item); i++) {
		if (s->element ? i != s->index : !slice_eq(key, s->name))
			continue;
		*begin = s->element ? item.raw.p : key.p;
		*v = item;
		return true;
	}
	return false;
}

unsigned long jline_of(struct slice text, const char *path)
{
	const char *begin = text.p;
	unsigned long line = 1;
	struct jline_step step;
	struct jval v;

	if (jscan_value(text, &v) != JSCAN_OK)
		return line;
	while (next_step(&path, &step) && take_step(&step, &v, &begin))
		;
	for (const char *p = text.p; p < begin; p++)
		line += *p == '\n';
	return line;
}
