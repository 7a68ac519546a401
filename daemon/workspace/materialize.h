/*
 * materialize.h - carries out one request (request.h). Both the tree of the workspace and the skills of the private
 * home are staged. Only if both pass, the skills are committed, and after them the workspace. Each is all or nothing.
 *
 * Archives are pinned until the request has ended. done is called once, from the loop; then the owner calls
 * materialize_free.
 */
#pragma once

#include "workspace/request.h"
#include "workspace/workspaces.h"

struct materialize;

struct materialize_spec {
	const struct request *request; /* read during materialize_start only */
	const struct agent_user *user; /* whose the trees are; lives as long as the work */
	struct proc_group *group;      /* of the session, whose limits the jobs share; NULL: none */
	const char *cwd;
	const char *skills_dir; /* absolute, made by the caller; NULL: this harness has none */
	const char *instructions_file; /* the name that this harness reads in cwd */
	const char *baseline; /* snapshot directory that is begun with an archive; NULL: none */
	const char
		*delivered; /* snapshot directory that gets a list of what is written; NULL: none */
	const char *prefix; /* of fields in errors */
};

struct materialized {
	struct slice
		members; /* raw members of the reply: "workspace", "skills"; valid during the call */
	bool skills_changed;
	bool instructions_kept_out; /* a file of others is there and stays */
};

struct materialize_events {
	/* e NULL: done. refusal: acpd-unpack's own raw object, or empty. */
	void (*done)(void *ctx, const struct materialized *m, const struct err *e,
		     struct slice refusal);
};

struct materialize *materialize_start(struct workspaces *ws, const struct materialize_spec *spec,
				      const struct materialize_events *ev, void *ctx,
				      struct err *e);
/* A tree is being written, or is: what is left follows, and nothing is undone. */
bool materialize_committing(const struct materialize *m);
/* The session does not want it any more; done follows in any case. */
void materialize_abort(struct materialize *m);
struct materialize *materialize_free(struct materialize *m);
