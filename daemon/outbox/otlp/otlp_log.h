/* otlp_log.h - a line of the log as a message LogRecord: its fields are attributes, its traceparent is that of the record. */
#pragma once

#include "base/bucket.h"
#include "base/log.h"
#include "outbox/otlp/otlp_writer.h"

/* A log that runs away would else push everything else out of the queue. All zeros at first. */
struct otlp_log {
	struct bucket lines;
};

/* Nothing is put: there are too many lines just now. */
void otlp_log_put(struct otlp_log *l, const struct log_line *line, bool json, struct buf *b);
