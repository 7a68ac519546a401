/* otlp_gzip.h - a body as gzip. */
#pragma once

#include "base/buf.h"

/* Appends. -ENOMEM, -E2BIG. */
int otlp_gzip(struct slice body, struct buf *ret);
