/*
 * tool.h - what a built-in tool is: a row of a table, and a function. The tools themselves know no MCP.
 *
 * From the rows of fields come the JSON schemas (2020-12, additionalProperties false) and the check of every call's arguments, so that
 * what is announced is what is enforced. A tool either works on a thread of its own (work: may block, sees nothing that changes) or on
 * the loop (start, and cancel while it runs); it ends by tool_done or tool_fail, exactly once.
 *
 * A result is the structured object; the text content is the same object as JSON. An error is isError with structuredContent
 * {"error":{"code","message",...}}: code is UPPER_SNAKE, or one of the POSIX names that file tools use (ENOENT, EEXIST, EISDIR, ENOTDIR,
 * ENOTEMPTY, EACCES, ESTALE).
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "json/jenc.h"
#include "json/jscan.h"
#include "loop/loop.h"
#include "proc/proc.h"

#include <stdbool.h>
#include <stdint.h>

enum tool_type {
	TOOL_STRING,
	TOOL_INT,
	TOOL_BOOL,
	TOOL_STRINGS, /* array of strings */
	TOOL_MAP,     /* object of strings */
	TOOL_OBJECT,  /* members in sub */
	TOOL_OBJECTS, /* array of those */
	TOOL_ANY,     /* any JSON value */
};

enum tool_flag {
	TOOL_REQUIRED = 1,
	TOOL_NULLABLE = 2, /* output: null is possible */
};

struct tool_field {
	const char *name; /* NULL: end of the table */
	enum tool_type type;
	unsigned flags;
	int64_t min,
		max; /* TOOL_INT: range; strings: longest, in max; arrays: most elements, in max; 0: the default limit */
	const char *text;	  /* description */
	const char *fallback;	  /* default, as JSON; NULL: none */
	const char *const *words; /* TOOL_STRING: the only values, NULL-terminated; NULL: any */
	const struct tool_field *sub;
};

/* Mastra's categories, for policies. */
enum tool_category { TOOL_READ, TOOL_EDIT, TOOL_EXECUTE, TOOL_OTHER };

enum tool_hint {
	HINT_READ_ONLY = 1,
	HINT_DESTRUCTIVE = 2,
	HINT_IDEMPOTENT = 4,
	HINT_OPEN_WORLD = 8,
};

struct tool_call;

struct tool {
	const char *name, *title, *text;
	enum tool_category category;
	unsigned hints;
	const struct tool_field *in, *out;
	void (*work)(struct tool_call *c);  /* on a thread: not NULL, or start is not */
	void (*start)(struct tool_call *c); /* on the loop */
	/* The call is cancelled, or over its time (timed_out): end it soon by tool_done or tool_fail, with what there is. */
	void (*cancel)(struct tool_call *c, bool timed_out);
};

/* Tables of the families, each ended by a row without name; toolbox.c lists them in one order. */
extern const struct tool file_tools[], search_tools[], patch_tools[], command_tools[],
	process_tools[], other_tools[];

struct toolbox; /* roots, policy, environment, limits: toolbox.h */

struct tool_call {
	struct toolbox *box;
	const struct tool *tool;
	struct slice args; /* raw object, checked; lives as long as the call */
	bool dry_run;	   /* nothing may be changed */
	void *own;	   /* the tool's, freed by it before it ends the call */
};

/* Arguments by name, after the check: a fallback stands for an absent one. */
struct jval tool_arg(const struct tool_call *c, const char *name);
char *tool_arg_str(const struct tool_call *c, const char *name); /* NULL if absent; caller frees */
int64_t tool_arg_int(const struct tool_call *c, const char *name, int64_t absent);
bool tool_arg_bool(const struct tool_call *c, const char *name, bool absent);

/* members: raw members of the result object. From work: at its end, on the thread; it is delivered on the loop. */
void tool_done(struct tool_call *c, struct slice members);
/* e->reason is the code. extra: further raw members of "error", or empty. */
void tool_fail(struct tool_call *c, const struct err *e, struct slice extra);
/* A message of notifications/progress, if the client asked for it. From any thread. */
void tool_progress(struct tool_call *c, double progress, double total, struct slice message);
/* True once the caller has gone; long work looks at it. From any thread. */
bool tool_cancelled(const struct tool_call *c);
