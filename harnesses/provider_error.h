/*
 * provider_error.h - what a model provider's refusal means: the class of a failed turn, from the status of its answer, from
 * its word for it, and from its text where there is neither. Tables; pure.
 *
 * Adapters use it for what a harness tells of its provider, the reader of answers (model/call_meter.h) for what passes.
 */
#pragma once

#include "harnesses/harness.h"

/* Class and retryable of a provider's HTTP status; the message must be set before. */
void provider_error_by_status(struct turn_error *te, int status);
/* Class, status and retryable of the word that a provider has for an error ("overloaded_error", "RESOURCE_EXHAUSTED"),
 * for errors inside an answer of status 200; the message must be set before. False: it is not known. */
bool provider_error_by_word(struct turn_error *te, const char *word);
/* A provider says that the conversation is too long. */
bool provider_text_overflow(const char *text);
/* A provider says that its customer has no money or usage left. */
bool provider_text_quota(const char *text);
