/*
 * artifact_store.h - what a session leaves for its orchestrator besides its history: files with a name and a media
 * type, made by clients (_acpd/artifact/put) or by the daemon (the diff of a turn). They live in
 * <state>/artifacts/<session>/, one file each and a line in index.jsonl, and go when the session is deleted. Each is
 * announced by an event of kind "artifact".
 *
 * An artifact never changes. Ids are "art_<n>", n from 1. Functions return 0 or a negative errno with e filled.
 */
#pragma once

#include "digest/digest.h"
#include "session/core/session.h"

struct artifact {
	struct list link;
	uint64_t no, size, turn, time_ms; /* turn 0: of none; time: Unix */
	char *name, *type, *source;	  /* source: "client", "diff" or "tool" */
	struct sha256 digest;
};

struct artifact_spec {
	const char *name; /* for people: 1 to 255 bytes, no control characters */
	const char *type; /* media type; NULL: application/octet-stream */
	const char *source;
	uint64_t turn;
};

/* Each until fn returns false, oldest first. */
void artifact_each(struct session *s, bool (*fn)(void *ctx, const struct artifact *a), void *ctx);
/* The member artifacts: all of them, each as artifact_describe has it. */
void artifacts_put(struct session *s, struct jw *w);
/* NULL: there is none. */
const struct artifact *artifact_find(struct session *s, const char *id);
/* ARTIFACT_TOO_LARGE, TOO_MANY, NO_SPACE or STATE_NOT_WRITABLE. */
int artifact_put(struct session *s, const struct artifact_spec *spec, struct slice bytes,
		 const struct artifact **ret, struct err *e);
/* The same for a file in the session's artifact directory, which is renamed. */
int artifact_adopt(struct session *s, const struct artifact_spec *spec, const char *path,
		   const struct artifact **ret, struct err *e);
/* {id, name, type, size, sha256, turn?, source, ts} */
void artifact_describe(struct jw *w, const char *key, const struct artifact *a);
/* Where its bytes are. The caller frees. */
char *artifact_path(struct session *s, const struct artifact *a);
/* A path in the artifact directory, which is made, for a file that is to be adopted. The caller frees. */
char *artifact_new_path(struct session *s, const char *name);
/* The directory of artifacts of a session that is not there yet, as a bundle brings it; missing is none. 0 or a negative
 * errno. */
int artifacts_take(struct session_store *st, const char *id, const char *from);
/* Forgets what was read. */
void artifacts_done(struct session *s);

/* --- patch_answer.c --- */
/* A patch that acpd-unpack has written, for its client: without the secrets of the session, as text if it fits an answer,
 * otherwise as an artifact. */
struct patch_info {
	int64_t bytes, files, insertions, deletions;
};

/* The member "patch" of a report; false: there is none. */
bool patch_info_read(struct slice report, struct patch_info *ret);
/* The file becomes an artifact of that name; turn 0: of none. NULL with e. */
const struct artifact *patch_adopt(struct session *s, const char *file, const char *name,
				   uint64_t turn, struct err *e);
/* Members omitted, which are what cannot be compared and then what .gitignore files leave out, and omittedTotal. */
void patch_put_omitted(struct jw *w, struct slice report);
/* Members patch or artifact, files, insertions, deletions. */
int patch_answer_put(struct jw *w, struct session *s, const char *file, struct slice report,
		     struct err *e);
