/*
 * leftovers_job.h - removes what a user has left on the machine, when nothing may be his any more:
 *
 *	leftovers	{uid, gid, directories: [...], keep?: [...]}	{"done":{"failed":N}}
 *
 * First all of its processes are killed. Then what it owns directly in one of the directories goes, with everything
 * below that; an entry that is one of the paths in keep, or leads to one, stays as it is. Then its System V shared
 * memory, semaphores and message queues, and what cron and at have of it. A directory that is missing is nothing.
 *
 * Each part is a process of that user, so nothing of others can be harmed; those that enter directories are confined to
 * them (confine.h). Only the spools of cron and at are root's to remove from: single names, regular files of that user.
 * failed counts the parts that left something. The caller sees to it that nobody else runs as that user.
 */
#pragma once

#include "unpack/job/unpack_report.h"

enum unpack_exit leftovers_run(struct slice line);
