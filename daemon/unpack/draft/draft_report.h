/*
 * draft_report.h - a change set for its reader: the list of its paths, and a patch of what git could apply.
 *
 * The patch has files up to SNAPSHOT_FILE_MAX and links; not directories, modes but the executable bit, nor what is in a
 * .git. What it lacks is in the list all the same, and is applied: the list and its digest are the change set, and the
 * patch shows it.
 */
#pragma once

#include "unpack/draft/draft_compare.h"
#include "unpack/snapshot/patchfile.h"

struct jw;

/* Into fd; what it lacks is added to c->omitted. */
int draft_patch(struct draft_trees *t, struct draft_changes *c, int fd, struct patch_stat *stat,
		uint64_t *bytes, struct verdict *v);
/* Members patchDigest, changes, changesTotal, bytes, conflicts, conflictsTotal, omitted, omittedTotal. */
void draft_report(struct jw *w, const struct draft_changes *c);
/* Members conflicts, conflictsTotal alone. */
void draft_report_conflicts(struct jw *w, const struct draft_changes *c);
