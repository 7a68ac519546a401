/*
 * workspace_internal.h - what of a session lies in its workspace and home, beside its history: what is put there,
 * snapshots of it, artifacts.
 *
 * This folder owns struct session_workspace . What runs for it outside
 * (inspections, provisioning) keeps the session from being freed until it has ended. Errors go to the caller; a
 * snapshot that fails is noted in the log and keeps no turn from ending.
 */
#pragma once

#include "session/parts/session_parts.h"
#include "base/list.h"
#include "loop/loop.h"
#include "session/core/session.h"

struct provisioning;
struct session_turn;

/* State of the part. */
struct session_workspace {
	struct {
		struct list list; /* struct artifact; valid once read */
		bool read;
		unsigned n;
		uint64_t bytes, last;
	} artifacts;

	struct list inspections;    /* struct inspection */
	uint64_t export_lacks;	    /* how much the last archive that lacked something did */
	struct list diffs;	    /* asked for while a snapshot is taken */
	unsigned snapshots_running; /* snapshots being taken (baseline.c) */
	bool snapshot_again;	    /* a baseline is wanted when they are */
	bool baseline_ignoring;	    /* of fewer files: the whole tree has too many */
	bool seeded;		    /* its directory was begun by the extraction */
	bool baseline_due;	    /* until the newest is taken nobody is answered */
	struct session_turn *snapshot_turn; /* waits for the one at its end */
	void (*snapshot_done)(struct session_turn *t);
	struct loop_timer snapshot_timer;
	uint64_t last_diff;

	/* what is being put into workspace and home, and what came of the last time */
	struct provisioning *provisioning;
	char *provisioned, *refusal; /* raw objects */
	char *home_instructions;     /* for the harness's own configuration */
};

static inline struct session_workspace *workspace_of(const struct session *s)
{
	return s->parts[PART_WORKSPACE];
}
