/*
 * entries.h - the readers of archives: each passes all its entries to a plan.
 */
#pragma once

#include "unpack/bytes/feed.h"
#include "unpack/bytes/source.h"
#include "unpack/stage/stage_plan.h"

/* All entries into plan (not plan_finish). 0, or negative with the plan's verdict filled. */
int tar_read(struct source *src, struct plan *plan);

/* All entries into plan (not plan_finish). limits: of what is inflated. 0, or negative with the plan's verdict
 * filled. */
int zip_read(int fd, struct feed_limits limits, struct plan *plan);
