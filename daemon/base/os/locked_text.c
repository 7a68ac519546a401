#include "base/os/locked_text.h"

#include "base/os/locked.h"
#include "base/util.h"

#include <string.h>

struct locked_text {
	unsigned owners;
	size_t n;
	bool locked;
	char *bytes;
};

struct locked_text *locked_text_new(struct slice bytes)
{
	struct locked_text *t = new0(struct locked_text);

	t->owners = 1;
	t->n = bytes.n;
	t->bytes = locked_alloc(bytes.n + 1);
	t->locked = t->bytes;
	if (!t->locked)
		t->bytes = xalloc(bytes.n + 1);
	if (bytes.n)
		memcpy(t->bytes, bytes.p, bytes.n);
	return t;
}

struct locked_text *locked_text_ref(struct locked_text *t)
{
	if (t)
		t->owners++;
	return t;
}

struct locked_text *locked_text_unref(struct locked_text *t)
{
	if (!t || --t->owners)
		return NULL;
	if (t->locked) {
		locked_free(t->bytes, t->n + 1);
	} else {
		explicit_bzero(t->bytes, t->n);
		free(t->bytes);
	}
	free(t);
	return NULL;
}

struct slice locked_text_slice(const struct locked_text *t)
{
	return t ? (struct slice){ t->bytes, t->n } : SLICE_NONE;
}

const char *locked_text_str(const struct locked_text *t)
{
	return t ? t->bytes : NULL;
}
