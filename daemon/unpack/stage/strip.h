/*
 * strip.h - what becomes of "strip" when the entries of a source have been read. With a number the plan has cut so
 * many components off each name and told of what lost all of them (stage_plan.h); nothing left at all is refused here.
 * With STRIP_AUTO the names came as they are, and if all are below one directory, what is in it moves up by one: into
 * its place, in the stage and in the manifest, before links are made. A directory with nothing in it stays, as does a
 * file.
 */
#pragma once

#include "unpack/stage/stage_plan.h"

/* stripped: how many components went. The source is the last that was read, and with STRIP_AUTO the only one so far. */
int strip_finish(struct plan *p, int64_t strip, uint64_t *stripped);
