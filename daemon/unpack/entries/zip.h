/*
 * zip.h - reads a zip: its whole directory first (zipdir.h), then a plan of all entries without writing, so that
 * nothing is written of an archive whose names, types or sizes are against a rule; then the contents, inflated one
 * after the other on a thread of their own (ring.h) with size and CRC of each enforced.
 *
 * An entry that comes twice replaces the earlier one, in the order of the directory.
 */
#pragma once

#include "unpack/bytes/feed.h"
#include "unpack/stage/stage_plan.h"

/* All entries into plan (not plan_finish). limits: of what is inflated. 0, or negative with the plan's verdict
 * filled. */
int zip_read(int fd, struct feed_limits limits, struct plan *plan);
