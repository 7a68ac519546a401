/*
 * A patch and a file: the input is split at its first NUL into both. Whatever is read, as git's or in any way of writing, names paths that
 * git would touch, hunks inside the text and lines that add up; applied to itself or refused, it ends.
 */
#include "fuzz.h"

#include "diff/apply/apply.h"

static void check_file(const struct patch_file *f, struct slice text)
{
	const char *names[] = { f->from, f->to, f->other_from, f->other_to };

	FUZZ_CHECK(f->from || f->to);
	for (size_t i = 0; i < 4; i++)
		FUZZ_CHECK(!names[i] ||
			   (names[i][0] && names[i][0] != '/' && !strstr(names[i], "/../") &&
			    strncmp(names[i], "../", 3) != 0));
	FUZZ_CHECK(slice_inside(f->payload, text));
	for (size_t i = 0; i < f->nhunks; i++) {
		FUZZ_CHECK(slice_inside(f->hunks[i].body, text));
		FUZZ_CHECK(slice_inside(f->hunks[i].anchors, text));
		FUZZ_CHECK(f->hunks[i].trailing <= f->hunks[i].old_n);
	}
}

static void apply(const struct patch_file *f, struct slice old)
{
	_cleanup_(buf_done) struct buf out = { 0 };
	struct patch_place *places = calloc(f->nhunks + 1, sizeof(*places));
	struct err e = { 0 };
	int r = patch_apply(f, old, &out, places, &e);

	if (r < 0)
		check_err(&e);
	else if (!f->binary)
		FUZZ_CHECK(buf_len(&out) <= old.n + f->nhunks * 4096 + 2 * 65536);
	for (size_t i = 0; r == 0 && i < f->nhunks; i++)
		FUZZ_CHECK(f->binary || places[i].at > 0);
	for (size_t i = 0; i < f->nhunks; i++)
		for (size_t k = 0; k < places[i].nalso; k++)
			FUZZ_CHECK(places[i].also[k] > 0 && places[i].also[k] <= old.n);
	free(places);
}

static void read_and_apply(struct slice text, int strip, struct slice old)
{
	struct patch_set set;
	struct err e = { 0 };
	int r = patch_read(text, strip, &set, &e);

	if (r < 0)
		check_err(&e);
	else
		FUZZ_CHECK(set.n > 0);
	for (size_t i = 0; r == 0 && i < set.n; i++) {
		check_file(&set.files[i], text);
		apply(&set.files[i], old);
	}
	patch_set_done(&set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
	size_t n = nul ? (size_t)(nul - data) : size;
	struct slice text = exact(data, n), old = nul ? exact(nul + 1, size - n - 1) : exact("", 0);

	if (size <= 65536) {
		read_and_apply(text, (int)(size % 3), old);
		read_and_apply(text, -1, old);
	}
	exact_free(&text);
	exact_free(&old);
	return 0;
}
