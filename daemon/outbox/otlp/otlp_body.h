/* otlp_body.h - bodies of requests and of answers of OTLP, as far as they are not records (otlp_writer.h). Pure. */
#pragma once

#include "base/buf.h"

/* The body as gzip. Appends. -ENOMEM, -E2BIG. */
int otlp_gzip(struct slice body, struct buf *ret);

/* How many records a receiver rejected of a batch that it has taken. body: an Export…ServiceResponse, of any signal, as protobuf or JSON. 0: none, or it is no such answer. message: a part of
 * body with its reason, or empty; of JSON raw. */
uint64_t otlp_answer_rejected(struct slice body, bool json, struct slice *message);
