/*
 * call_meter.h - what a model call used, read from the provider's own answer while its bytes pass. Pure; nothing is changed or
 * held back.
 *
 * The four APIs, streamed (events, or google's array) and not, are told apart by what comes. Only the few values that
 * count are collected (meter_places.c has their paths), so an event may be as long as it likes. What the answer does not
 * tell is absent; of a value that is told several times the last one counts, since each is the sum so far.
 *
 * The numbers have the one meaning of struct harness_usage: input with what was read from and written to a cache, output
 * with reasoning. `complete` says that the answer told its own end, so that nothing is missing. One that was cut, or of
 * which a part could not be understood, is not complete; what it told until then stands.
 */
#pragma once

#include "harnesses/harness.h"
#include "model/model_api.h"

struct call_meter;

/* Text borrows from the meter, until more is fed. */
struct metered {
	struct harness_usage usage; /* with model, response_id, finish_reason and cost as told */
	const char *service_tier, *request_id;
	int status; /* of HTTP; 0: there was no answer */
	bool complete;
	bool settled;	  /* the last numbers are told, though the end may be still to come */
	bool calls_tools; /* the model wants to go on after a tool call */
	bool failed;	  /* by its status, or an error inside the answer: error says how */
	struct turn_error error;
};

struct call_meter *call_meter_new(enum model_api api);
/* headers: raw object of strings, as the provider sent them. */
void call_meter_head(struct call_meter *m, int status, struct slice headers);
/* True: something has been told that call_meter_read did not have before. */
bool call_meter_feed(struct call_meter *m, struct slice bytes);
/* The body has ended as HTTP wants it. Not called for one that was cut. */
void call_meter_end(struct call_meter *m);
/* As far as it is known now. */
void call_meter_read(const struct call_meter *m, struct metered *ret);
struct call_meter *call_meter_free(struct call_meter *m);
