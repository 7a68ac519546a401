/*
 * unpack_job.h - what acpd-unpack is asked to do: one line of JSON on standard input, decoded by field tables. acpd
 * writes it, and it is still checked like any other input: a member that is not known, of the wrong type or out of
 * range is a malformed job (exit 2) that names the member.
 *
 * A source is an archive, a directory (of a skill), or a single file with its content. Paths of sources ("into",
 * "file") are checked where names of archives are (stage_plan.h), with the same reasons. A job owns what it points to.
 */
#pragma once

#include "json/jdec.h"
#include "unpack/stage/stage_plan.h"
#include "unpack/bytes/source.h"

/* The largest uid or gid of a job: the number after it means "none" to the kernel. */
#define ID_MAX (UINT32_MAX - 1ll)

struct job_source {
	char *archive;	 /* path of the file, or NULL */
	bool has_digest; /* the archive has to have this one: feed.h */
	struct sha256 digest;
	enum archive_format format; /* declared; ARCHIVE_UNKNOWN: not */
	int64_t strip;		    /* or STRIP_AUTO, of the first source: strip.c */
	char *into;
	char *file;	 /* path in the tree, or NULL */
	char *directory; /* to be copied; or NULL */
	struct buf content;
	bool executable;
	bool overwrite; /* what is at the path */
	bool renew;	/* only what an earlier generation wrote there */
};

struct unpack_job {
	char *target, *manifest;
	char *baseline; /* a snapshot directory that gets a seed (snapshot/seed.h), or NULL */
	char *delivered; /* one that gets a list of what is written and removed (snapshot/delivered.c), or NULL */
	bool merge, confirm, once;
	enum link_rule links; /* of archives */
	int64_t uid, gid;     /* -1: those we have */
	struct plan_limits limits;
	struct job_source *sources;
	size_t n;
	bool skills;   /* sources are skills (skill_install.h), or skills are to be removed */
	char **remove; /* names of those */
	size_t nremove;
};

/* -EINVAL with v naming the member: then ret holds nothing. */
int job_parse(struct slice line, struct unpack_job *ret, struct verdict *v);
void job_done(struct unpack_job *j);
/* line is one object with these fields and no others, into ret. absolute: the first field is a text, and must be an
 * absolute path. A negative errno: v says what is wrong, as VERDICT_BAD_JOB. */
int job_decode(struct slice line, const struct jfield *fields, bool absolute, void *ret,
	       struct verdict *v);

/* Appends the texts of a raw array, which may be absent, to *v, of *n items, which the caller frees in any case. -E2BIG: more
 * than max; -EINVAL: not texts of at most bytes. */
int job_strings(struct slice raw, size_t max, size_t bytes, char ***v, size_t *n);

/* Lines of standard input, read in pieces. */
struct job_input {
	struct buf b;
};
/* 1: a line (valid until the next call); 0: the end; negative errno. */
int job_line(struct job_input *in, struct slice *ret);
