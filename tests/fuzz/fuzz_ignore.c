/*
 * Patterns and paths of anybody. The matcher agrees with one that is written down as the rules are, by recursion; what is below an
 * excluded directory is excluded; and leaving a directory forgets its patterns.
 */
#include "fuzz.h"

#include "tree/glob.h"
#include "tree/ignore.h"

/* --- the rules, one after the other ---------------------------------------------------------------------- */

#define STEPS_MAX 20000

struct rules {
	const char *start, *end, *text_end;
	bool in_path;
	unsigned steps;
};

static bool obeys(struct rules *r, const char *p, const char *t);

/* A run of stars from p up to q. */
static bool stars(struct rules *r, const char *p, const char *q, const char *t)
{
	bool plain = q < r->end && *q == '/';
	bool escaped = r->end - q > 1 && q[0] == '\\' && q[1] == '/';
	bool alone = (p == r->start || p[-1] == '/') && (q == r->end || plain || escaped);
	bool any = !r->in_path || (q - p >= 2 && alone);

	if (r->in_path && any && plain && obeys(r, q + 1, t))
		return true;
	for (;; t++) {
		if (obeys(r, q, t))
			return true;
		if (t == r->text_end || (*t == '/' && !any))
			return false;
	}
}

static bool obeys(struct rules *r, const char *p, const char *t)
{
	const char *q = p;

	if (++r->steps > STEPS_MAX)
		return false;
	if (p == r->end)
		return t == r->text_end;
	while (q < r->end && *q == '*')
		q++;
	if (q > p)
		return stars(r, p, q, t);
	if (t == r->text_end)
		return false;
	if (*p == '?')
		return (!r->in_path || *t != '/') && obeys(r, p + 1, t + 1);
	if (*p == '\\' && ++p == r->end)
		return false;
	return *p == *t && obeys(r, p + 1, t + 1);
}

/* Sets are left to the comparison with git (test_ignore_git.c). */
static void check_glob(struct slice pattern, struct slice text, bool in_path)
{
	struct rules r = { pattern.p, pattern.p + pattern.n, text.p + text.n, in_path, 0 };
	bool matches = glob_match(pattern, text, in_path), want;

	if (pattern.n && memchr(pattern.p, '[', pattern.n))
		return;
	want = obeys(&r, pattern.p, text.p);
	FUZZ_CHECK(r.steps > STEPS_MAX || matches == want);
}

/* --- a walk ---------------------------------------------------------------------------------------------- */

static void check_below(struct ignore *ig, bool excluded)
{
	if (ignore_push(ig, "d/e", SLICE("!*\n")) < 0)
		return;
	if (excluded)
		FUZZ_CHECK(ignore_match(ig, "d/e/f", false) && ignore_match(ig, "d/e/f", true));
	else
		FUZZ_CHECK(!ignore_match(ig, "d/e/f", false));
	ignore_pop(ig);
}

static void check_walk(struct slice top, struct slice inner, const char *name)
{
	struct ignore *ig = ignore_new();
	bool file, dir;

	if (ignore_push(ig, "", top) == 0) {
		file = ignore_match(ig, name, false);
		dir = ignore_match(ig, name, true);
		if (ignore_push(ig, "d", inner) == 0) {
			check_below(ig, ignore_match(ig, "d/e", true));
			ignore_pop(ig);
		}
		FUZZ_CHECK(ignore_match(ig, name, false) == file);
		FUZZ_CHECK(ignore_match(ig, name, true) == dir);
		ignore_pop(ig);
		FUZZ_CHECK(!ignore_match(ig, name, true));
	}
	ignore_free(ig);
}

/* Three pieces with 0x1e between: a path, the patterns at the top, those of the directory d. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice rest = { (const char *)data, size }, piece[3] = { 0 };
	struct slice line, patterns;
	char *name;

	for (size_t i = 0; i < 3 && next_piece(&rest, 0x1e, &piece[i]); i++)
		piece[i] = exact(piece[i].p, piece[i].n);
	name = xstrndup(piece[0].p ? piece[0].p : "", piece[0].n);
	check_walk(piece[1], piece[2], name);
	patterns = piece[1];
	while (next_piece(&patterns, '\n', &line)) {
		check_glob(line, piece[0], true);
		check_glob(line, piece[0], false);
	}
	for (size_t i = 0; i < 3; i++)
		exact_free(&piece[i]);
	free(name);
	return 0;
}
