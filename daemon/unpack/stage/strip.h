/*
 * strip.h - applies "strip" when the entries of a source have been read. With a number, the plan has cut so many
 * components off each name and reported those that lost all of them (stage_plan.h); if nothing at all is left, this
 * code refuses it. With STRIP_AUTO the names are unchanged, and if all are below one directory, its contents move up by
 * one into its place, in the stage and in the manifest, before links are made. An empty directory stays, and so does a
 * file.
 */
#pragma once

#include "unpack/stage/stage_plan.h"

/* stripped: how many components went. The source is the last that was read, and with STRIP_AUTO the only one so far. */
int strip_finish(struct plan *p, int64_t strip, uint64_t *stripped);
