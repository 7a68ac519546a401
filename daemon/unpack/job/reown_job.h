/*
 * reown_job.h - the verb "reown": what below some trees belongs to given uids, and giving it to another.
 *
 * Without "to" it only looks: how many entries there are ("entries", at most "max": TOO_MANY_ENTRIES), and whether
 * anything of these uids is in a tree that is named as foreign ("found"). With "to" every file, directory and link of
 * these uids, and of the groups of their numbers, is given to "to"; the top of each tree must be root's and closed to
 * all others (session/parts/users/parked_uids.h), so nobody renames meanwhile. The top itself stays as it is. Links are not
 * followed, what is mounted below is not entered, and the kernel clears setuid bits.
 */
#pragma once

#include "unpack/job/unpack_report.h"

enum unpack_exit reown_run(struct slice line);
