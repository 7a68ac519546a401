/* meter_places.h - where the values stand that call_meter.c collects, for each API. Tables; pure. */
#pragma once

#include "harnesses/harness.h"
#include "model/model_api.h"

/* What is taken at a place. The counts come first: enum harness_count. */
enum meter_take {
	TAKE_TOOL_PROMPT = COUNT_MAX, /* input that is not in COUNT_INPUT */
	TAKE_COST,
	TAKE_TOOL,	   /* a tool call's name */
	TAKE_OUTPUT_TYPE,  /* of a part of the answer, which may be a tool call */
	TAKE_ERROR_STATUS, /* a number, or one of the next two */
	TAKE_TEXT,	   /* the first of enum meter_text */
};

enum meter_text {
	TEXT_MODEL,
	TEXT_ID,
	TEXT_FINISH,
	TEXT_FINISH_DETAIL, /* says more than TEXT_FINISH */
	TEXT_TIER,
	TEXT_ERROR_CODE,
	TEXT_ERROR_TYPE,
	TEXT_ERROR_MESSAGE,
	TEXT_REQUEST_ID,
	TEXT_EVENT_TYPE, /* these three of the event that passes */
	TEXT_EVENT_CODE,
	TEXT_EVENT_MESSAGE,
	TEXT_MAX,
};

/* enum meter_take, or TAKE_TEXT + enum meter_text; -1: nothing is wanted there. */
int meter_place(enum model_api api, const char *path);
/* The type of an event says that the answer ends with it. */
bool meter_type_ends(enum model_api api, const char *type);
/* The type of a part of the answer is one of a tool call that the harness has to make. */
bool meter_type_is_tool(const char *type);
