/*
 * session_parameter.h - a parameter of a session: a member of _meta.acpd of session/new, load, resume and fork.
 *
 * A parameter is one row, in the file of the part that owns it; the part lists its rows (struct session_part). The core
 * decodes a parameter by its row, has it checked, applies it, writes it into the journal's record and loads it from
 * there, and gives it to forks. A new row needs one more line: daemon/protocol/parameters.md.
 *
 * A value is kept as text: the JSON that the client sent, or the string itself for JF_T_STR. A row with a size has a typed
 * value as well, which is parsed from the text; its text is then what put writes. Where put writes nothing the parameter
 * counts as absent, and its value is all zeros.
 */
#pragma once

#include "json/jdec.h"
#include "json/jenc.h"

struct harness_caps;
struct setup;
struct setup_params;

/* The calls that accept a parameter. PARAMETER_LOAD: session/load and session/resume. */
enum parameter_calls { PARAMETER_NEW = 1, PARAMETER_LOAD = 2, PARAMETER_FORK = 4 };

/* What a check can see besides the value. */
struct parameter_check {
	const struct setup_params *params; /* all parameters of the call, decoded */
	const struct harness_caps *caps;
	unsigned model_apis; /* bit per enum model_api: calls that the client makes */
	const char *field;   /* of the value, for errors */
};

struct session_parameter {
	const char *name; /* in _meta.acpd, and in the record */
	enum jftype type; /* JF_T_RAW: check decides; null counts as absent */
	const char *
		says; /* the sentence of the docs; NULL: no client gives it, it is a member of the record alone */
	unsigned flags; /* enum jfflag */
	int64_t max;	/* JF_T_STR: bytes */
	unsigned calls; /* enum parameter_calls; 0: all of them */
	struct {
		int checked; /* of several errors the first one is answered; 0: after all that have a place */
		int stored; /* in the journal's record, whose order is fixed; 0: the core does not keep it */
	} order;
	unsigned change; /* the bits of enum setup_change that another value sets, besides SETUP_CHANGED */
	size_t kept; /* offset of its text in struct setup; 0: among the values */
	bool own;    /* a fork does not inherit it */

	/* Checks a value that was given, before anything changes. Not needed with parse. */
	int (*check)(struct jval v, const struct parameter_check *c, struct err *e);

	/* --- a typed value --- */
	size_t size;
	int (*parse)(struct jval v, const char *field, void *ret, struct err *e);
	void (*put)(const void *value, struct jw *w, const char *key);
	/* Parses a member of a record, leniently; NULL: parse does. */
	void (*load)(struct jval v, void *ret);
	/* Copies the members that to does not name from an earlier value. */
	void (*merge)(void *to, const void *from);
	/* Frees what the value points at. */
	void (*done)(void *value);

	/* Returns the bits of enum setup_change where `change` alone does not tell them. s has the old value still. For rows
	 * with a size: before and after are typed, all zeros if absent. */
	unsigned (*effect)(const struct setup *s, const void *before, const void *after);

	/* --- instead of the ways above, for what does not lie in one text --- */
	unsigned (*apply)(struct setup *s, const struct setup_params *p);
	void (*put_record)(const struct setup *s, struct jw *w);
	void (*load_record)(struct setup *s, struct slice record);
	void (*inherit)(struct setup *s, const struct setup *from);
};

/* How a row begins: PARAMETER("retry", OBJ, "what becomes of a turn whose checks failed"). A new row is stored last. */
#define PARAMETER(member, kind, sentence) .name = member, .type = JF_T_##kind, .says = sentence
#define PARAMETER_LAST 1000
/* The rows of a part. */
#define PARAMETERS(...) ((const struct session_parameter *const[]){ __VA_ARGS__, NULL })

/* The value of a switch: 1 or 0; -EINVAL with e: it is neither true nor false. */
int parameter_switch(struct jval v, const char *field, struct err *e);

/* All rows, in the order of their checks, or of the record (only those that are stored), with NULL at the end. */
const struct session_parameter *const *session_parameters(void);
const struct session_parameter *const *session_parameters_stored(void);

/* The rows of the core (core/harness/setup_rows.c), with NULL at the end. */
extern const struct session_parameter *const core_parameters[];
