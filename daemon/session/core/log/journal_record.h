/*
 * journal_record.h - one line of a journal:
 * {"n":12,"o":0,"k":"agent_message_chunk","t":1795248000123,"m":<value>,"crc":"0a1b2c3d"}
 *
 * n is the sequence number (0: no event), o the connection the event came from, t Unix milliseconds.
 * Written with fixed member order, so that reading one back is a few comparisons; anything else is -EBADMSG. crc
 * is CRC-32C over the bytes from '{' up to, not including, the comma before "crc".
 */
#pragma once

#include "base/buf.h"

#include <stdint.h>

struct journal_record {
	uint64_t seq, origin, time_ms;
	struct slice kind_name, value;
	uint8_t kind; /* enum session_event_kind, EVENT_KIND_MAX if it is none */
};

/* Appends what the line of r has before its value; 0 or -E2BIG. */
int journal_record_head(struct buf *b, const struct journal_record *r, const char *kind);
/* Appends the line of r (seq, origin, time_ms, value) with its newline; 0 or -E2BIG. */
int journal_record_put(struct buf *b, const struct journal_record *r, const char *kind);
/* line without its newline. */
int journal_record_parse(struct slice line, struct journal_record *ret);
/* How many events a line that cannot be parsed may have been: one, unless number and kind both say that it was none,
 * and one more for each place where it seems to go over into another line. */
size_t journal_record_count_damaged(struct slice line);
