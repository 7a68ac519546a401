/*
 * confine_report.h - what `acpd confine try` found, for a human or as one JSON object:
 *
 *	{level: {requested, achieved, missing: [{what, why}]}, exitCode | signal,
 *	 refused: [{call, detail?, errno, count, why?, rule, harmless?}], more?}
 */
#pragma once

#include "confine/confinement.h"
#include "confine/watch/refusal.h"

#define TRY_MISSING_MAX 16

struct try_result {
	enum confine_level level;
	struct {
		const char *what, *why;
	} missing[TRY_MISSING_MAX];
	size_t n_missing;
	bool exited; /* else killed */
	int code;    /* exit code or signal */
	struct refusal *refused;
	size_t n_refused;
	uint64_t more; /* that found no room */
};

/* Something is refused that has to be allowed before the command works as it would without a level. */
bool confine_report_refused(const struct try_result *t);
/* One line. */
void confine_report_json(const struct try_result *t, struct buf *b);
void confine_report_text(const struct try_result *t, struct buf *b);
