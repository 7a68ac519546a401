/*
 * otlp_writer.h - messages of OTLP, as protobuf or as its JSON: the same calls give the one or the other.
 *
 * Every member has the number and the name that the official texts (opentelemetry-proto) give it. A repeated member is a
 * list of items. Members that are 0 or empty may be left out by the caller; here nothing is. Errors are sticky in the buf.
 */
#pragma once

#include "base/buf.h"
#include "base/limits.h"
#include "json/jenc.h"

#define OTLP_CUMULATIVE 2 /* AGGREGATION_TEMPORALITY_CUMULATIVE */

struct otlp_writer {
	struct buf *b;
	bool json;
	struct jw jw; /* of JSON */
	unsigned depth;
	size_t at[OTLP_DEPTH]; /* where the text of each open message begins */
};

/* A message of its own, without tag and length. */
void otlp_open(struct otlp_writer *w, struct buf *b, bool json);
void otlp_close(struct otlp_writer *w);
/* A message as a member; name NULL: an item of a list. */
void otlp_begin(struct otlp_writer *w, unsigned field, const char *name);
void otlp_end(struct otlp_writer *w);
void otlp_list(struct otlp_writer *w, const char *name);
void otlp_list_end(struct otlp_writer *w);
/* An item that was written before, by a writer of the same kind. */
void otlp_item(struct otlp_writer *w, unsigned field, struct slice message);

/* What is no UTF-8 is replaced; more than OTLP_TEXT_MAX is cut. */
void otlp_text(struct otlp_writer *w, unsigned field, const char *name, struct slice text);
/* Ids: hex digits here; bytes in protobuf, the digits in JSON. */
void otlp_id(struct otlp_writer *w, unsigned field, const char *name, const char *hex);
void otlp_number(struct otlp_writer *w, unsigned field, const char *name, uint64_t v);
/* 64 bits, which JSON has as a string; fixed: eight bytes in protobuf. */
void otlp_wide(struct otlp_writer *w, unsigned field, const char *name, uint64_t v, bool fixed);
void otlp_double(struct otlp_writer *w, unsigned field, const char *name, double v);
void otlp_bool(struct otlp_writer *w, unsigned field, const char *name, bool v);
/* An item of a list of packed numbers, eight bytes each: what it begins with, each, and its end. */
void otlp_packed(struct otlp_writer *w, unsigned field, const char *name, const uint64_t *v,
		 size_t n);
void otlp_packed_doubles(struct otlp_writer *w, unsigned field, const char *name, const double *v,
			 size_t n);

/* Attributes: items of a list of KeyValue, whose field number the message says. NULL or empty text: left out. */
void otlp_attr_text(struct otlp_writer *w, unsigned field, const char *key, const char *text);
void otlp_attr_slice(struct otlp_writer *w, unsigned field, struct slice key, struct slice text);
void otlp_attr_int(struct otlp_writer *w, unsigned field, const char *key, int64_t v);
void otlp_attr_bool(struct otlp_writer *w, unsigned field, const char *key, bool v);
/* An array of one text. */
void otlp_attr_only(struct otlp_writer *w, unsigned field, const char *key, const char *text);
