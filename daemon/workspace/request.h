/*
 * request.h - what a client wants in a session's workspace and private home: `_meta.acpd.workspace`, `.skills`,
 * `.instructions` and `.harnessFiles` of session/new and session/load, and the parameters of
 * `_acpd/workspace/materialize` and `_acpd/skills/install`. Checked in full before anything happens; errors name the
 * field. Paths inside the workspace are checked again by acpd-unpack, whose rules decide.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "digest/digest.h"
#include "json/jscan.h"

/* As it comes: raw spans, borrowed; empty or J_NONE if absent. */
struct request_args {
	struct slice workspace;	    /* object */
	struct slice skills;	    /* array */
	struct jval instructions;   /* string, or {text, overwrite} */
	struct slice harness_files; /* array */
	struct slice remove_skills; /* array of names */
};

enum skill_source { SKILL_ARCHIVE, SKILL_BUILTIN, SKILL_PATH };

struct request_skill {
	enum skill_source source;
	struct sha256 digest; /* of the archive */
	char *name;	      /* builtin: its name; path: an absolute path */
};

struct request {
	/* the workspace */
	bool has_archive;
	struct sha256 archive;
	bool merge, ephemeral, remove_on_close, chown;
	int64_t strip; /* or STRIP_AUTO */
	const char *
		links; /* what becomes of those that lead out: a word for acpd-unpack; NULL: not said */
	char *into;
	int baseline; /* 1: take one, 0: none, -1: not said */

	struct request_skill *skills;
	size_t nskills;
	char *remove_skills; /* raw array of names; NULL: none */
	bool dry_run;	     /* everything is checked, nothing done */

	char *instructions; /* NULL: none */
	bool instructions_overwrite;
	char *files; /* raw array of {path, text | base64, executable?, overwrite?}; NULL: none */
};

/* prefix: put before field names in errors, "_meta.acpd." or "". On error nothing needs freeing. */
int request_parse(const struct request_args *a, const char *prefix, struct request *ret,
		  struct err *e);
void request_done(struct request *r);
/* For an existing session: refuses what only a new session can have. */
int request_check_live(const struct request *r, const char *prefix, struct err *e);
/* The request adds or removes skills. */
bool request_touches_skills(const struct request *r);
/* The request writes into the workspace; else skills at most. */
bool request_touches_workspace(const struct request *r);
/* The request writes anything. */
bool request_writes(const struct request *r);
