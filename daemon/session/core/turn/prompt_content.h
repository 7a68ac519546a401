/*
 * prompt_content.h - content blocks of a prompt: which ones a harness can deliver to its model, and in which form.
 *
 * A harness that delivers images alone (harness_caps.images_alone) would drop other bytes, or break its session on them.
 * So they are refused before the model is called. A resource whose bytes are an image is delivered as an image.
 */
#pragma once

#include "base/buf.h"
#include "harnesses/harness.h"

/* Checks content, a raw array, against promptCapabilities and what the harness delivers. The field of e is the block's
 * place: "prompt[2]". */
int prompt_content_check(struct slice content, const struct harness_caps *caps, struct err *e);
/* Returns checked content as the harness takes it: content itself, or an array in buf if blocks differ. */
struct slice prompt_content_for(struct slice content, const struct harness_caps *caps,
				struct buf *buf);
