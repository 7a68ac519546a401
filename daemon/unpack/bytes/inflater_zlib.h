/* inflater_zlib.h - what inflater_isal.c uses of zlib's side. */
#pragma once

#include "unpack/bytes/inflater.h"

#include <zlib.h>

/* inflate() on io with this flush; its return code. */
int inflater_zlib_call(z_stream *z, struct inflater_io *io, int flush);
enum inflated inflater_zlib_step(z_stream *z, struct inflater_io *io);
