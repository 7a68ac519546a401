/*
 * binary.h - "GIT binary patch": the new contents and, for the way back, the old ones, each deflated and written in
 * lines of up to 52 bytes as git's base 85.
 */
#pragma once

#include "base/buf.h"

/* 0, -E2BIG or -ENOMEM. */
int binary_patch_append(struct buf *out, struct slice from, struct slice to);
