#include "base/os/locked_text.h"

#include "base/util.h"

#include <string.h>
#include <sys/mman.h>

struct locked_text {
	unsigned owners;
	size_t n, mapped;
	char *bytes;
};

static char *pages(size_t n)
{
	/* cppcheck-suppress invalidFunctionArg; -1 is right with MAP_ANONYMOUS */
	return mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

struct locked_text *locked_text_new(struct slice bytes)
{
	struct locked_text *t = new0(struct locked_text);

	t->owners = 1;
	t->n = bytes.n;
	t->mapped = bytes.n + 1;
	t->bytes = pages(t->mapped);
	if (t->bytes == MAP_FAILED)
		abort();
	mlock(t->bytes, t->mapped);
	madvise(t->bytes, t->mapped, MADV_DONTDUMP);
	madvise(t->bytes, t->mapped, MADV_WIPEONFORK);
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
	explicit_bzero(t->bytes, t->mapped);
	munmap(t->bytes, t->mapped);
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
