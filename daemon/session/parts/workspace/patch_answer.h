/*
 * patch_answer.h - a patch that acpd-unpack has written, for its client: without the secrets of the session, as text if it
 * fits an answer, else as an artifact.
 */
#pragma once

#include "session/parts/workspace/artifact_store.h"

struct jw;
struct session;

struct patch_info {
	int64_t bytes, files, insertions, deletions;
};

/* The member "patch" of a report; false: there is none. */
bool patch_info_read(struct slice report, struct patch_info *ret);
/* The file becomes an artifact of that name; turn 0: of none. NULL with e. */
const struct artifact *patch_adopt(struct session *s, const char *file, const char *name,
				   uint64_t turn, struct err *e);
/* Members patch or artifact, files, insertions, deletions. */
int patch_answer_put(struct jw *w, struct session *s, const char *file, struct slice report,
		     struct err *e);
