/*
 * draft_job.h - the jobs on a draft. A draft is a tree that stands for another, the real one, until its changes are
 * applied: an overlay or a copy, which the daemon makes and mounts (session/draft/). view is where it is seen. The jobs
 * read both as the tree's user, and never what an overlay keeps beneath: its marks (whiteouts, opaque directories,
 * redirects) are the kernel's own business.
 *
 *	draft-begin	{root, base, copy?, maxBytes?, uid?, gid?}	the record of the real tree, and the copy
 *	draft-diff	{root, base, view, overlay?, patch, uid?, gid?}	what the draft changes; nothing is changed
 *	draft-apply	{root, base, view, overlay?, digest, force?, uid?, gid?}	applies it, if that is its digest
 *	draft-measure	{root, uid?, gid?}				bytes on the disk
 *
 * Refused: DRAFT_TOO_LARGE, DRAFT_CONFLICT (conflicts, conflictsTotal), PATCH_DIGEST_MISMATCH, PATH_NOT_CHANGED, TOO_MANY_ENTRIES,
 * TIME_LIMIT. As with extract, an apply that is killed is finished or undone by the next job for the tree.
 */
#pragma once

#include "unpack/job/unpack_report.h"

enum unpack_exit draft_job_run(const char *verb, struct slice line);
