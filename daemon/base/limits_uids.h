/* limits_uids.h - bounds of what is done when a closed session's uid is given to another one. limits.h has the others. */
#pragma once

#define UID_FILES_MAX                                                                              \
	1000000 /* entries of its trees that are looked through; with more it keeps its uid */
#define REOWN_UIDS_MAX 64 /* that files of one session may have, one after another */
