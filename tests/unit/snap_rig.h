/*
 * snap_rig.h - snapshots and exports of a directory "ws" in the scratch directory, with the snapshot directory "base" beside it, all in the
 * process of the test.
 */
#pragma once

#include "unit.h"

#include "unpack/snapshot/snapshot_dir.h"

struct rig {
	struct verdict v;
	struct snapshot_report report;
	struct snapshot_limits limits; /* the usual ones after rig_setup */
	bool gitignore;
};

extern struct rig rig;

/* A new scratch directory with an empty "ws". */
int rig_setup(void **state);
int rig_done(void **state);

/* A file of ws, with the directories above it; rig_put("a", NULL) removes it, whatever it is. */
void rig_put(const char *path, const char *text);
void rig_link(const char *path, const char *target);
/* Waits until what was changed is proven by the next look. */
void rig_settle(void);
const char *rig_path(const char *path);

/* Takes the snapshot of a turn (0: a baseline) with its patch in the scratch file "patch"; 0 or the error of rig.v. */
int rig_snapshot(uint32_t turn);
/* The same in another snapshot directory. */
int rig_snapshot_in(const char *dir, uint32_t turn);
/* The patch since a turn. */
int rig_diff(uint32_t since);
/* The same, where it has to work. */
void rig_snapshot_ok(uint32_t turn);
void rig_diff_ok(uint32_t since);
/* What was left out, as JSON. */
#define assert_omitted(text) assert_text(buf_slice(&rig.report.omitted.json), text)
#define assert_reason(text) assert_string_equal(rig.v.reason, text)
/* The patch holds this text. */
bool rig_patch_has(const char *text);
/* The files of base in one line, sorted. */
const char *rig_base_files(void);
