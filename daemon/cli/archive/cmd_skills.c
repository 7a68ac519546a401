/* cmd_skills.c - `acpd skills validate DIR`: checks a skill before it is packed, with acpd-unpack. */
#include "cli/archive/run_unpack.h"

#include "json/jenc.h"

#include <stdio.h>

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
	struct jiter it, findings;
	struct jval skill, f;
	int code = EXIT_FAILED;

	jiter_init(&it, jobj_get(done, "skills"));
	while (jiter_next(&it, NULL, &skill)) {
		bool usable = jobj_get(skill.raw, "usable").type == J_TRUE;
		bool valid = jobj_get(skill.raw, "valid").type == J_TRUE;

		code = valid ? EXIT_DONE : EXIT_REFUSED;
		if (c->json)
			continue;
		if (jiter_init(&findings, jobj_get(skill.raw, "findings")))
			while (jiter_next(&findings, NULL, &f))
				print_finding(f.raw);
		printf("%s\n", valid ? "valid" : usable ? "usable, but not valid" : "not usable");
	}
	return code;
}

int cmd_skills_validate(const struct config *c)
{
	_cleanup_(freep) char *dir = cli_absolute(c->args[0]);
	_cleanup_(buf_done) struct buf job = { 0 };
	struct jw w = JW(&job);

	jw_obj(&w, NULL);
	jw_str(&w, "directory", dir);
	jw_bool(&w, "single", true);
	jw_end_obj(&w);
	buf_putc(&job, '\n');
	return cli_helper(c, "skills", buf_slice(&job), print_report);
}
