/*
 * model_api.h - what of a model API may pass between a harness and its provider: paths, and headers of both directions.
 * Tables; pure.
 *
 * A harness and its headers are in the hands of whoever writes its prompt, so nothing passes that is not named here. The
 * path is matched as it stands, never mended: one that two readers could understand differently is refused.
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "json/jenc.h"

enum model_api {
	MODEL_OPENAI_RESPONSES,
	MODEL_OPENAI_CHAT,
	MODEL_ANTHROPIC,
	MODEL_GOOGLE,
	MODEL_API_MAX,
};

/* "openai-responses", "openai-chat", "anthropic", "google"; -1: there is no such API. */
int model_api_find(const char *name);
const char *model_api_name(enum model_api api);
/* The first segment of its paths, "/v1" or "/v1beta": what a base URL ends with. */
const char *model_api_root(enum model_api api);

/* Rows that a session adds to those of its API: a raw array of strings "METHOD /path", GET or POST, below the API's root; one
 * segment, or what of it stands before a colon, may be "*". The field names what is wrong. */
int model_paths_check(enum model_api api, struct slice paths, const char *field, struct err *e);
/* path: origin form, from the root on, with its query. more: such rows, checked, or empty. */
bool model_path_passes(enum model_api api, struct slice more, struct slice method,
		       struct slice path);
/* It asks a model for an answer, which uses tokens; others list models, or count. */
bool model_path_generates(enum model_api api, struct slice method, struct slice path);
/* How many tokens a request allows the answer; 0: it says nothing. */
uint64_t model_output_asked(struct slice body);
/* The model that a path names (google), else empty. */
struct slice model_of_path(enum model_api api, struct slice path);

/* lines: fields of the request (base/http/http_fields.h). Writes those that pass as members, names in lower case, and
 * accept-encoding: identity, so that what comes back can be read. */
void model_request_headers(enum model_api api, struct slice lines, struct jw *w);
/* A header of the provider's answer that the harness gets. */
bool model_answer_header_passes(struct slice name);
