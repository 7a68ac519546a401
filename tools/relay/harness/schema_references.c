/* schema_references.c - what a schema refers to in itself, and how much may be read to find it. */
#include "base/limits.h"
#include "base/util.h"
#include "json/jstr.h"
#include "tools/relay/harness/schema_fitting.h"

#define EFFORT_MIN 1024 /* of one reference or name that is looked for */

/* Charges at least EFFORT_MIN, so that many small look-ups end, too. The effort is shared by
 * all tools of a list. */
bool fitting_may_look(struct fitting *f, size_t bytes)
{
	size_t cost = MAX(bytes, (size_t)EFFORT_MIN);

	if (*f->effort < cost)
		return false;
	*f->effort -= cost;
	return true;
}

/* In place: ~1 is a slash, ~0 is ~, %XX is a byte. */
static void pointer_unescape(char *s)
{
	char *out = s;
	unsigned byte;
	int n;

	for (; *s; s++) {
		if (s[0] == '~' && (s[1] == '0' || s[1] == '1')) {
			*out++ = *++s == '1' ? '/' : '~';
		} else if (*s == '%' && sscanf(s, "%%%2x%n", &byte, &n) == 1 && n == 3 && byte) {
			*out++ = (char)byte;
			s += 2;
		} else {
			*out++ = *s;
		}
	}
	*out = '\0';
}

struct jval fitting_element(struct jval array, const char *index)
{
	char *end;
	unsigned long n = strtoul(index, &end, 10);

	if (*end || end == index)
		return (struct jval){ J_NONE, SLICE_NONE };
	jarr_each(v, array)
		if (!n--)
			return v;
	return (struct jval){ J_NONE, SLICE_NONE };
}

/* Returns the schema that "#/$defs/x" refers to; J_NONE if it is not in this one, or if too much has been read already.
 * Each step is charged, as it reads what the step before found. */
static struct jval find_target(struct fitting *f, struct jval ref)
{
	_cleanup_(freep) char *text = NULL;
	struct jval v = { J_OBJECT, f->root };
	char *rest, *name;

	/* Only references inside the schema itself: nothing is ever fetched. */
	if (jstr_decode(ref, TOOL_SCHEMA_REF_MAX, &text) < 0 ||
	    (strcmp(text, "#") != 0 && strncmp(text, "#/", 2) != 0))
		return (struct jval){ J_NONE, SLICE_NONE };
	rest = text[1] ? text + 2 : NULL;
	while (fitting_may_look(f, v.raw.n)) {
		name = strsep(&rest, "/");
		if (!name || v.type == J_NONE)
			return v;
		pointer_unescape(name);
		v = v.type == J_ARRAY ? fitting_element(v, name) : jobj_get(v.raw, name);
	}
	return (struct jval){ J_NONE, SLICE_NONE };
}

/* Must be paired with fitting_close if it found a target. */
struct jval fitting_open(struct fitting *f, struct jval ref)
{
	struct jval v = find_target(f, ref);

	if (f->nopen == REFS_OPEN_MAX || v.type == J_NONE)
		return (struct jval){ J_NONE, SLICE_NONE };
	for (size_t i = 0; i < f->nopen; i++)
		/* A schema that refers to itself ends here, with anything allowed. */
		if (f->open[i] == v.raw.p)
			return (struct jval){ J_NONE, SLICE_NONE };
	f->open[f->nopen++] = v.raw.p;
	return v;
}

void fitting_close(struct fitting *f)
{
	f->nopen--;
}
