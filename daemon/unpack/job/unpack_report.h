/*
 * unpack_report.h - the lines that acpd-unpack answers with (JSON, one object each), and the exit codes that go with
 * them.
 */
#pragma once

#include "unpack/extract/skill_install.h"
#include "unpack/job/verdict.h"

enum unpack_exit {
	UNPACK_DONE = 0,
	UNPACK_FAILED = 1,
	UNPACK_BAD_JOB = 2,
	UNPACK_REFUSED = 3,
	UNPACK_NOT_CONFIRMED = 5,
};

/* The result of a job. */
struct summary {
	struct outcome outcome;
	struct skills skills;
	uint64_t entries, bytes;
	bool has_stripped; /* the job had a strip */
	uint64_t stripped; /* components, of the last source that did */
	struct sha256 manifest;
};

/* Appends {"refused":...} or {"failed":...}. */
void report_verdict(struct buf *b, const struct verdict *v);
enum unpack_exit report_exit(const struct verdict *v);
/* Prints the same on standard output; returns the exit code. */
enum unpack_exit report_print(const struct verdict *v);
/* Appends {"<word>":{...}}. */
void report_summary(struct buf *b, const char *word, const struct summary *s);
