/*
 * spool_record.h - one line of a spool (base/format/crc_line.h):
 *
 *	{"v":1,"spool":"1f3c...","next":12,"from":3,"to":7,"sandbox":"","events":"turn.ended"}	the head of each file
 *	{"n":12,"t":1795248000123,"k":"turn.ended","s":"SESSION","i":"evt_...","m":{...}}	an event
 *	{"done":12}										it was accepted
 *	{"from":3,"to":7}									what is missing; 0, 0: it was told
 *
 * Members stand in this order, so that reading is a few comparisons; anything else is -EBADMSG. The texts but m are ours:
 * words without quotes and backslashes.
 */
#pragma once

#include "base/buf.h"

#include <stdint.h>

enum spool_line { SPOOL_HEAD, SPOOL_EVENT, SPOOL_DONE, SPOOL_GAP };

struct spool_record {
	enum spool_line line;
	uint64_t n; /* of an event; of the head: the next */
	uint64_t time_ms;
	struct slice type, session, id, data; /* of an event */
	uint64_t from, to;
	struct slice spool, sandbox, events; /* of the head */
};

/* Appends the line with its newline; 0 or -E2BIG. */
int spool_record_put(struct buf *b, const struct spool_record *r);
/* line without its newline; the slices borrow from it. Whether data is JSON is not looked at. */
int spool_record_parse(struct slice line, struct spool_record *ret);
