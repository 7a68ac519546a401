/*
 * cmd_unpack.c - `acpd archive extract` and `acpd skills validate`: what the daemon lets acpd-unpack do, from
 * the command line. No daemon is needed. The job is the one that a daemon would send, so that a refusal here is
 * the refusal that a session would get.
 */
#include "cli/archive/archive.h"

#include "json/jenc.h"

#include <pwd.h>

static void put_extract_job(struct buf *b, const struct config *c)
{
	_cleanup_(freep) char *archive = cli_absolute(c->args[0]),
			      *target = cli_absolute(c->args[1]);
	struct passwd *pw = c->uid < 0 ? NULL : getpwuid((uid_t)c->uid);
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_str(&w, "target", target);
	if (c->uid >= 0)
		jw_int(&w, "uid", c->uid);
	if (pw)
		jw_int(&w, "gid", pw->pw_gid);
	jw_str(&w, "links", c->links);
	jw_arr(&w, "sources");
	jw_object(&w, NULL, JW_STR("archive", archive), JW_INT("strip", c->strip));
	jw_end_arr(&w);
	jw_end_obj(&w);
}

static int print_extracted(const struct config *c, struct slice done)
{
	if (c->json)
		return EXIT_DONE;
	printf("written %lld files, %lld bytes\n", cli_number_of(done, "written"),
	       cli_number_of(done, "bytes"));
	cli_print_skipped(done);
	return EXIT_DONE;
}

int cmd_archive_extract(const struct config *c)
{
	_cleanup_(buf_done) struct buf job = { 0 };

	if (!*c->args[0] || !*c->args[1])
		return fail(EXIT_USAGE, "an empty path");
	put_extract_job(&job, c);
	return run_unpack(c, "extract", buf_slice(&job), print_extracted);
}

/* --- skills ------------------------------------------------------------------------------------------------- */

static void print_finding(struct slice f)
{
	_cleanup_(freep) char *severity = cli_text_of(f, "severity"),
			      *code = cli_text_of(f, "code"), *path = cli_text_of(f, "path"),
			      *message = cli_text_of(f, "message");

	printf("%s %s: %s%s%s\n", severity ? severity : "", code ? code : "", path ? path : "",
	       path ? ": " : "", message ? message : "");
}

/* A skill that is not valid but usable is accepted: clients may use it. An unusable one is refused. */
static int print_report(const struct config *c, struct slice done)
{
	int code = EXIT_FAILED;

	jarr_each(skill, jobj_get(done, "skills")) {
		bool usable = jobj_get(skill.raw, "usable").type == J_TRUE;
		bool valid = jobj_get(skill.raw, "valid").type == J_TRUE;

		code = valid ? EXIT_DONE : EXIT_REFUSED;
		if (c->json)
			continue;
		jarr_each(finding, jobj_get(skill.raw, "findings"))
			print_finding(finding.raw);
		printf("%s\n", valid ? "valid" : usable ? "usable, but not valid" : "not usable");
	}
	return code;
}

int cmd_skills_validate(const struct config *c)
{
	_cleanup_(freep) char *dir = cli_absolute(c->args[0]);
	JW_BUF(w, job);

	jw_object(&w, NULL, JW_STR("directory", dir), JW_BOOL("single", true));
	return run_unpack(c, "skills", buf_slice(&job), print_report);
}
