/* otlp_answer.h - what a receiver says of a batch that it has taken: how many records it rejected of it. Pure. */
#pragma once

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* body: an Export…ServiceResponse, of any signal, as protobuf or JSON. 0: none, or it is no such answer. message: a part of
 * body with its reason, or empty; of JSON raw. */
uint64_t otlp_answer_rejected(struct slice body, bool json, struct slice *message);
