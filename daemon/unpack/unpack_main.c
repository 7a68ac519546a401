/*
 * acpd-unpack VERB: one job per process. The job is the first line of standard input, the answer the last line of
 * standard output.
 */
#include "unpack/draft/draft.h"
#include "unpack/export/export_jobs.h"
#include "unpack/extract/extract.h"
#include "unpack/small_jobs/small_job.h"

static enum unpack_exit run_extract(struct job_input *in, struct slice line)
{
	struct verdict v = { .kind = VERDICT_NONE };
	enum unpack_exit code;
	struct unpack_job job;

	if (job_parse(line, &job, &v) < 0)
		return report_print(&v);
	code = extract_run(&job, in);
	job_done(&job);
	return code;
}

/* Exactly one of the three: what a job needs besides its line. */
static const struct unpack_verb {
	const char *name;
	enum unpack_exit (*run)(struct slice line);
	enum unpack_exit (*export)(const char *verb, struct slice line);
	enum unpack_exit (*converse)(struct job_input *in, struct slice line);
} verbs[] = {
	{ "extract", .converse = run_extract },
	{ "pack", .export = export_keeper_run },
	{ "snapshot", .export = export_keeper_run },
	{ "fold", .export = export_keeper_run },
	{ "diff", .export = export_keeper_run },
	{ "bundle", .export = export_keeper_run },
	{ "bundle-check", .export = export_keeper_run },
	{ "recover", .run = tree_job_recover },
	{ "remove", .run = tree_job_remove },
	{ "skills", .run = tree_job_skills },
	{ "inflate", .run = inflate_job },
	{ "discard", .run = discard_run },
	{ "leftovers", .run = leftovers_run },
	{ "reown", .run = reown_run },
	{ "draft-begin", .export = draft_job_run },
	{ "draft-diff", .export = draft_job_run },
	{ "draft-apply", .export = draft_job_run },
	{ "draft-measure", .export = draft_job_run },
};

int main(int argc, char **argv)
{
	struct job_input in = { .b = { .max = UNPACK_JOB_MAX } };
	int code = UNPACK_BAD_JOB;
	struct verdict v = { .kind = VERDICT_NONE };
	struct slice line;

	for (size_t i = 0; argc == 2 && i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(argv[1], verbs[i].name) != 0)
			continue;
		if (job_line(&in, &line) == 1) {
			code = verbs[i].converse ? verbs[i].converse(&in, line) :
			       verbs[i].export	 ? verbs[i].export(verbs[i].name, line) :
						   verbs[i].run(line);
		} else {
			bad_job(&v, "PARAM_INVALID", "", "no job on standard input");
			code = report_print(&v);
		}
		buf_done(&in.b);
		return code;
	}
	fprintf(stderr, "usage: acpd-unpack VERB <JOB\n");
	return code;
}
