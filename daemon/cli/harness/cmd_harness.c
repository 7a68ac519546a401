/* cmd_harness.c - `acpd harness list` and `verify`: which harnesses are here, and whether they are what they should be.
 * No daemon is needed. */
#include "cli/cmd.h"
#include "cli/harness/program_host.h"

#include "base/limits.h"
#include "session/parts/programs/program_hash.h"

#include <errno.h>
#include <stdio.h>

static int print_json(struct buf *b)
{
	printf("%.*s\n", (int)buf_len(b), b->data);
	return fflush(stdout) == 0 ? EXIT_DONE : EXIT_FAILED;
}

/* --- list ----------------------------------------------------------------------------------------------------------- */

static void list_json(const struct programs *p, const char *prefix, struct buf *b)
{
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_str(&w, "prefix", prefix);
	jw_arr(&w, "harnesses");
	for (size_t i = 0; i < programs_count(p); i++)
		program_put(&w, programs_at(p, i));
	jw_end_arr(&w);
	jw_end_obj(&w);
}

static const char *state_of(const struct program_fact *f)
{
	if (!f->path)
		return "not installed";
	if (*f->why.reason)
		return f->why.msg;
	return f->version ? f->version : "installed";
}

static void list_line(const struct program_fact *f)
{
	bool other = f->pin && f->version && !program_fits(f);

	printf("%-10s %-26s", f->def->id, state_of(f));
	if (f->pin && (!f->path || other))
		printf(" %s%s@%s", other ? "not the pinned " : "pinned: ", f->pin->package,
		       f->pin->release);
	printf("%s%s\n", f->path ? " " : "", f->path ? f->path : "");
}

int cmd_harness_list(const struct config *c)
{
	_cleanup_(program_host_close) struct program_host h;
	_cleanup_(buf_done) struct buf b = { 0 };
	struct err e = { 0 };

	if (program_host_open(&h, c->harness_config, &e) < 0)
		return fail(EXIT_USAGE, "%s", e.msg);
	program_host_facts(&h, c->prefix, (unsigned)c->timeout);
	if (c->json) {
		list_json(h.programs, c->prefix, &b);
		return print_json(&b);
	}
	for (size_t i = 0; i < programs_count(h.programs); i++)
		list_line(programs_at(h.programs, i));
	return EXIT_DONE;
}

/* --- verify --------------------------------------------------------------------------------------------------------- */

/* What came of one: written as its row of the answer, or as a line. */
static int verify_one(const struct config *c, const struct harness_def *def, const char *path,
		      struct jw *w)
{
	const struct harness_pin *pin = harness_pin_of(def);
	struct err e = { 0 };
	int r = program_verify(path, pin, &e);

	jw_obj(w, NULL);
	jw_str(w, "id", def->id);
	jw_str(w, "path", path);
	jw_bool(w, "verified", r == 0);
	jw_str(w, "sha256", pin->sha256);
	if (r < 0) {
		jw_obj(w, "problem");
		jw_str(w, "reason", e.reason);
		jw_str(w, "message", e.msg);
		jw_end_obj(w);
	}
	jw_end_obj(w);
	if (!c->json)
		printf("%-10s %s %s\n", def->id, r == 0 ? "verified" : e.msg, path);
	return r == 0 ? EXIT_DONE : r == -EBADMSG ? EXIT_REFUSED : EXIT_FAILED;
}

/* All that are installed and have a pin; the worst of what came of them. */
static int verify_all(const struct config *c, const struct harness_table *t, struct jw *w)
{
	int code = EXIT_DONE, found = 0;

	for (size_t i = 0; i < t->n; i++) {
		_cleanup_(freep) char *path = NULL;
		int one;

		if (!harness_pin_of(&t->defs[i]))
			continue;
		path = program_find(&t->defs[i], c->prefix, getenv("PATH"));
		if (!path)
			continue;
		found++;
		one = verify_one(c, &t->defs[i], path, w);
		code = MAX(code, one);
	}
	return found ? code : fail(EXIT_FAILED, "no harness that has a pin is installed");
}

static int verify_named(const struct config *c, const struct harness_table *t, struct jw *w)
{
	const struct harness_def *def = harness_table_find(t, c->args[0]);
	_cleanup_(freep) char *path = NULL;

	if (!def)
		return fail(EXIT_USAGE, "there is no harness '%s'", c->args[0]);
	if (!harness_pin_of(def))
		return fail(EXIT_USAGE, "harness '%s' has no pin", def->id);
	path = program_find(def, c->prefix, getenv("PATH"));
	return path ? verify_one(c, def, path, w) :
		      fail(EXIT_FAILED, "harness '%s' is not installed", def->id);
}

int cmd_harness_verify(const struct config *c)
{
	_cleanup_(harness_table_done) struct harness_table t = { 0 };
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);
	struct err e = { 0 };
	int code;

	if (harness_table_load(&t, c->harness_config, &e) < 0)
		return fail(EXIT_USAGE, "%s", e.msg);
	jw_obj(&w, NULL);
	jw_arr(&w, "harnesses");
	code = c->nargs ? verify_named(c, &t, &w) : verify_all(c, &t, &w);
	jw_end_arr(&w);
	jw_end_obj(&w);
	if (c->json && code != EXIT_USAGE)
		print_json(&b);
	return code;
}
