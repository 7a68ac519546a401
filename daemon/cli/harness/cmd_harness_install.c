/* cmd_harness_install.c - `acpd harness install`: the pinned release of one harness (cli/harness/harness_install.h). */
#include "cli/harness/harness_install.h"

#include "harnesses/registry.h"
#include "json/jenc.h"

#include <stdio.h>

static void print_result(const struct harness_install *in, int code, const struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_str(&w, "harness", in->pin->id);
	jw_str(&w, "package", in->pin->package);
	jw_str(&w, "release", in->pin->release);
	jw_bool(&w, "installed", code == EXIT_DONE);
	if (code == EXIT_DONE) {
		jw_bool(&w, "already", in->already);
		jw_str(&w, "sha256", in->pin->sha256);
	} else {
		jw_obj(&w, "problem");
		jw_str(&w, "reason", e->reason);
		jw_str(&w, "message", e->msg);
		jw_end_obj(&w);
	}
	jw_end_obj(&w);
	printf("%.*s\n", (int)buf_len(&b), b.data);
}

int cmd_harness_install(const struct config *c)
{
	_cleanup_(harness_table_done) struct harness_table t = { 0 };
	struct harness_install in = { .prefix = c->prefix,
				      .from = c->from,
				      .timeout_ms = (uint64_t)c->timeout * 1000 };
	struct err e = { 0 };
	int code;

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
		print_result(&in, code, &e);
	if (code != EXIT_DONE)
		return fail(code, "%s: %s", e.reason, e.msg);
	if (!c->json)
		printf("%s %s %s below %s\n", in.pin->id, in.pin->version,
		       in.already ? "is installed already" : "installed", c->prefix);
	return EXIT_DONE;
}
