/* base64.h - RFC 4648 base64 with padding, by libcrypto; strict: no white space, no other alphabet. */
#pragma once

#include "base/buf.h"

int base64_encode(struct slice bytes, struct buf *ret);
/* Appends the bytes; -EINVAL if text is no base64. */
int base64_decode(struct slice text, struct buf *ret);
