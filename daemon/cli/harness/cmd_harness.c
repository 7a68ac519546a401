/*
 * cmd_harness.c - `acpd harness list`, `verify` and `install`: which harnesses are here, and whether they are
 * what they should be. No daemon is needed.
 *
 * list asks each program its version, so it runs them; verify only hashes files. A pin is the release of a
 * harness that this acpd was tested with (harness_pins.h). Only harnesses with a pin can be verified or installed.
 */
#include "cli/cmd.h"
#include "cli/harness/harness_install.h"
#include "cli/harness/program_host.h"

#include "json/jenc.h"
#include "session/core/session_paths.h"
#include "session/parts/programs/programs.h"

static void harness_put_problem(struct jw *w, const struct err *e)
{
	jw_object(w, "problem", JW_STR("reason", e->reason), JW_STR("message", e->msg));
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

static const char *harness_state_text(const struct program_fact *f)
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

	printf("%-10s %-26s", f->def->id, harness_state_text(f));
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
		print_json(buf_slice(&b));
		return fflush(stdout) == 0 ? EXIT_DONE : EXIT_FAILED;
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
	if (r < 0)
		harness_put_problem(w, &e);
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
		path = paths_find_program(&t->defs[i], c->prefix, getenv("PATH"));
		if (!path)
			continue;
		found++;
		one = verify_one(c, &t->defs[i], path, w);
		/* EXIT_REFUSED, of a wrong hash, is greater than EXIT_FAILED, of a file that cannot be read. */
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
	path = paths_find_program(def, c->prefix, getenv("PATH"));
	return path ? verify_one(c, def, path, w) :
		      fail(EXIT_FAILED, "harness '%s' is not installed", def->id);
}

int cmd_harness_verify(const struct config *c)
{
	_cleanup_(harness_table_done) struct harness_table t = { 0 };
	JW_BUF(w, b);
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
		print_json(buf_slice(&b));
	return code;
}

/* --- install -------------------------------------------------------------------------------------------------------- */

static void print_install(const struct harness_install *in, int code, const struct err *e)
{
	JW_BUF(w, b);

	jw_obj(&w, NULL);
	jw_str(&w, "harness", in->pin->id);
	jw_str(&w, "package", in->pin->package);
	jw_str(&w, "release", in->pin->release);
	jw_bool(&w, "installed", code == EXIT_DONE);
	if (code == EXIT_DONE) {
		jw_bool(&w, "already", in->already);
		jw_str(&w, "sha256", in->pin->sha256);
	} else {
		harness_put_problem(&w, e);
	}
	jw_end_obj(&w);
	print_json(buf_slice(&b));
}

int cmd_harness_install(const struct config *c)
{
	_cleanup_(harness_table_done) struct harness_table t = { 0 };
	struct harness_install in = { .prefix = c->prefix,
				      .from = c->from,
				      .timeout_ms = (uint64_t)c->timeout * 1000 };
	struct err e = { 0 };
	int code;

	/* Without a manifest: what can be installed is what acpd has pins for. */
	if (harness_table_load(&t, NULL, &e) < 0)
		return fail(EXIT_FAILED, "%s", e.msg);
	in.def = harness_table_find(&t, c->args[0]);
	if (!in.def)
		return fail(EXIT_USAGE, "there is no harness '%s'", c->args[0]);
	in.pin = harness_pin_of(in.def);
	if (!in.pin)
		return fail(EXIT_USAGE, "harness '%s' has no pin for this machine", in.def->id);
	code = harness_install(&in, &e);
	if (c->json)
		print_install(&in, code, &e);
	if (code != EXIT_DONE)
		return fail(code, "%s: %s", e.reason, e.msg);
	if (!c->json)
		printf("%s %s %s below %s\n", in.pin->id, in.pin->version,
		       in.already ? "is installed already" : "installed", c->prefix);
	return EXIT_DONE;
}
