/*
 * take.h - one file or link of a living tree: its contents and the stat data that belong to them.
 *
 * Whatever stands at the name when it is opened is taken for what it is then: a file that became a FIFO does not hold
 * us, one that became a link is read as a link. A file that somebody is writing is read again, SNAPSHOT_RETRIES times
 * in all; then it is taken as it was read. Proven, so that the same stat data again mean the same contents, is only
 * what was not touched while it was read nor so shortly before that the clock of the file system may not have moved
 * on.
 */
#pragma once

#include "unpack/snapshot/index.h"

#include <sys/stat.h>

/* Does the entry say what is there, without a look at the contents? */
bool take_is_same(const struct index_entry *e, const struct stat *sb);
/* An entry that is left out, with the stat data if there are (sb may be NULL). */
struct index_entry take_omitted(enum omit_reason reason, const struct stat *sb);
/* Of what is neither file, link nor directory. */
enum omit_reason take_special(mode_t mode);
/* leaf in dir, which lstat said is sb. Contents to ret, emptied before; a file of more than max bytes is
 * INDEX_OMITTED, one that is gone INDEX_NONE. 0, or -ENOMEM, -EMFILE, -ENFILE; everything else the tree's owner may
 * have brought about is an entry. */
int take_content(int dir, const char *leaf, const struct stat *sb, uint64_t max, struct buf *ret,
		 struct index_entry *e);
