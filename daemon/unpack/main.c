/*
 * acpd-unpack VERB: one job per process. The job is the first line of standard input, the answer the last line of standard output.
 */
#include "base/file.h"
#include "unpack/carry.h"
#include "unpack/chores.h"
#include "unpack/extract.h"
#include "unpack/inflate_job.h"

#include <errno.h>
#include <stdio.h>

static enum unpack_exit bad_job(const struct err *e)
{
	_cleanup_(buf_done) struct buf line = { 0 };
	struct verdict v = { .kind = VERDICT_NONE };

	fail_err(&v, -EINVAL, e);
	v.kind = VERDICT_BAD_JOB;
	report_verdict(&line, &v);
	file_write_all(STDOUT_FILENO, line.data, line.len);
	return report_exit(&v);
}

static enum unpack_exit verb_extract(struct job_input *in, struct slice line)
{
	enum unpack_exit code;
	struct job job;
	struct err e;

	if (job_parse(line, &job, &e) < 0)
		return bad_job(&e);
	code = extract_run(&job, in);
	job_done(&job);
	return code;
}

static enum unpack_exit verb_pack(struct job_input *in _unused_, struct slice line)
{
	return carry_run("pack", line);
}

static enum unpack_exit verb_snapshot(struct job_input *in _unused_, struct slice line)
{
	return carry_run("snapshot", line);
}

static enum unpack_exit verb_diff(struct job_input *in _unused_, struct slice line)
{
	return carry_run("diff", line);
}

static enum unpack_exit verb_recover(struct job_input *in _unused_, struct slice line)
{
	return chore_recover(line);
}

static enum unpack_exit verb_remove(struct job_input *in _unused_, struct slice line)
{
	return chore_remove(line);
}

static enum unpack_exit verb_skills(struct job_input *in _unused_, struct slice line)
{
	return chore_skills(line);
}

static enum unpack_exit verb_inflate(struct job_input *in _unused_, struct slice line)
{
	inflate_job(line);
}

static const struct {
	const char *name;
	enum unpack_exit (*run)(struct job_input *in, struct slice line);
} verbs[] = {
	{ "extract", verb_extract }, { "pack", verb_pack },	  { "snapshot", verb_snapshot },
	{ "diff", verb_diff },	     { "recover", verb_recover }, { "remove", verb_remove },
	{ "skills", verb_skills },   { "inflate", verb_inflate },
};

int main(int argc, char **argv)
{
	struct job_input in = { .b = { .max = UNPACK_JOB_MAX } };
	int code = UNPACK_BAD_JOB;
	struct slice line;
	struct err e;

	for (size_t i = 0; argc == 2 && i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(argv[1], verbs[i].name) != 0)
			continue;
		if (job_line(&in, &line) == 1) {
			code = verbs[i].run(&in, line);
		} else {
			err_field(&e, "", "PARAM_INVALID", "no job on standard input");
			code = bad_job(&e);
		}
		buf_done(&in.b);
		return code;
	}
	fprintf(stderr, "usage: acpd-unpack VERB <JOB\n");
	return code;
}
