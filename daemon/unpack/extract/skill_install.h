/*
 * skill_install.h - jobs whose sources are skills (daemon/skill/): each is staged aside, checked on disk in its final
 * form, and moved to the name in its frontmatter. The target is a directory of skills, one directory each.
 */
#pragma once

#include "unpack/commit/commit.h"
#include "unpack/job/unpack_job.h"

struct skills {
	struct buf report; /* elements of the array "skills" of the job's report */
	char **names;	   /* that are there from now on, or are not any more */
	size_t n;
};

/* "into" of source i. */
#define SKILL_ASIDE_SIZE 32
void skills_aside(size_t i, char into[SKILL_ASIDE_SIZE]);
/* An open directory as a source, read as it stands. */
int skills_copy(struct plan *p, int dir);
/* After plan_finish: everything staged is checked and moved within tree. */
int skills_install(struct skills *s, struct plan *p, int tree, const struct unpack_job *job);
/* For struct commit: the old generation's entry at path stays. */
bool skills_keep(void *ctx, const char *path);
