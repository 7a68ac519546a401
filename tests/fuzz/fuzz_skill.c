/*
 * SKILL.md: whatever the bytes are, the report is consistent, bounded and valid JSON, says the same again, and what it calls valid has
 * a name and a description within the format's limits. A first line "dir NAME" gives the directory, so that names can match.
 */
#include "fuzz.h"

#include "base/limits.h"
#include "json/jenc.h"
#include "skill/skill.h"

static void put(const struct skill_report *r, struct buf *b)
{
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	skill_report_put(r, &w);
	jw_end_obj(&w);
	FUZZ_CHECK(!b->failed && is_json(buf_slice(b), J_OBJECT));
}

static void check_finding(const struct skill_finding *f)
{
	FUZZ_CHECK(f->code && f->code[0] && f->message && f->message[0]);
	FUZZ_CHECK(!f->has_limit || f->used > f->limit);
	for (const char *p = f->code; *p; p++)
		FUZZ_CHECK(*p == '_' || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9'));
	for (const char *p = f->message; *p; p++)
		FUZZ_CHECK((unsigned char)*p >= 0x20 && *p != 0x7f);
}

static void check_report(const struct skill_report *r, const char *dir)
{
	bool valid = true, usable = true;

	FUZZ_CHECK(r->n <= SKILL_FINDINGS_MAX && (!r->left_out || r->n == SKILL_FINDINGS_MAX));
	for (size_t i = 0; i < r->n; i++) {
		check_finding(&r->findings[i]);
		valid = valid && r->findings[i].severity == SKILL_WARNING;
		usable = usable && r->findings[i].severity != SKILL_FATAL;
	}
	FUZZ_CHECK(r->left_out || (r->valid == valid && r->usable == usable));
	FUZZ_CHECK(!r->valid || r->usable);
	FUZZ_CHECK(!r->usable || (r->skill.description && r->skill.description[0]));
	if (r->valid) {
		FUZZ_CHECK(r->skill.name && strcmp(r->skill.name, dir) == 0);
		FUZZ_CHECK(strlen(r->skill.name) <= SKILL_NAME_MAX && !r->skill.nunknown);
		FUZZ_CHECK(strlen(r->skill.description) <= 4 * SKILL_DESCRIPTION_MAX);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice all = { (const char *)data, size }, line = all;
	_cleanup_(buf_done) struct buf first = { 0 }, second = { 0 };
	_cleanup_(skill_report_done) struct skill_report r, again;
	_cleanup_(exact_free) struct slice file = SLICE_NONE;
	_cleanup_(freep) char *dir = xstrdup("pdf-tools");

	if (slice_skip(&all, "dir ") && next_piece(&all, '\n', &line)) {
		free(dir);
		dir = xstrndup(line.p, line.n);
	}
	file = exact(all.p, all.n);
	skill_report_init(&r);
	skill_report_init(&again);
	skill_check_file(file, dir, &r);
	check_report(&r, dir);
	put(&r, &first);
	skill_check_file(file, dir, &again);
	put(&again, &second);
	FUZZ_CHECK(slice_eq(buf_slice(&first), buf_slice(&second)));
	return 0;
}
