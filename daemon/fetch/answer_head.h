/*
 * answer_head.h - collects the head of an answer, line by line as libcurl hands it over, and puts it as one raw JSON
 * object: names in lower case, the values of a name that comes again behind each other with ", ". Pure.
 */
#pragma once

#include "base/buf.h"

#define ANSWER_NAMES_MAX 512

struct answer_head {
	struct answer_field *fields;
	size_t n, bytes;
	bool over; /* the head of the final answer is whole; what follows are trailers */
};

/* A line with its end. interim: the status is 1xx. 1: the head is whole; 0: it goes on; -EMSGSIZE: it is too large. */
int answer_head_line(struct answer_head *h, struct slice line, bool interim);
void answer_head_put(const struct answer_head *h, struct buf *json);
void answer_head_done(struct answer_head *h);
