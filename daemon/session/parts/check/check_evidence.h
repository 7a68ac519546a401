/*
 * check_evidence.h - what is known of one check when it has ended, and its bounded JSON.
 *
 * Text comes from the sandbox. It is masked whole before it is cut, so that no part of a secret is left at a cut, and
 * cut by what it takes as JSON: so many results stay below the size of a record of the ledger whatever is in them.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "json/jenc.h"

struct check_spec;
struct session;

/* One stream's end. */
struct check_text {
	struct buf text;  /* decoded */
	uint64_t dropped; /* bytes before it that are not kept, as far as that is known */
	bool cut;	  /* there were some */
};

struct check_evidence {
	bool ok;
	bool ended, by_signal; /* it ran to an end: its exit code is known, or its signal */
	int64_t exit_code;
	char signal[24];
	uint64_t ms, left;	    /* left: processes that it had left running */
	struct check_text out, err; /* of tests: out has both streams */
	bool tests;		    /* the counts are known */
	bool partial;
	int64_t passed, failed, skipped;
	struct buf failures; /* raw elements {name, suite?, message?} */
	unsigned nfailures;
	uint64_t more_failures;
	bool compared;	    /* it is known what the check has changed in the workspace */
	struct buf changed; /* raw strings: paths, as far as there is room */
	uint64_t changed_total;
	bool judged;	      /* paths, diffSize: these are known */
	struct buf offending; /* raw strings */
	uint64_t offending_total;
	int64_t counts[4]; /* enum check_limit; -1: not counted */
	struct err error;  /* why it was not run, or not to its end; reason "": it was */
};

void check_evidence_done(struct check_evidence *v);
/* Members of a result. */
void check_evidence_put(const struct session *s, const struct check_spec *c,
			struct check_evidence *v, struct jw *w);
