/*
 * tool.h - a built-in tool: a row of a table, and a function. The tools themselves know no MCP.
 *
 * From the rows of fields come the JSON schemas (2020-12, additionalProperties false) and the check of every call's
 * arguments, so that what is announced is what is enforced. A tool either works on a thread of its own (work or result:
 * may block, sees nothing that changes) or on the loop (start, and cancel while it runs); it ends by tool_done or
 * tool_fail, exactly once, and may not touch the call after. With result that is done for it.
 *
 * A result is the structured object, and a text for models (model_text.h). An error is isError with structuredContent
 * {"error":{"code","message",...}}: code is UPPER_SNAKE, or one of the POSIX names that file tools use (ENOENT,
 * EEXIST, EISDIR, ENOTDIR, ENOTEMPTY, EACCES, ESTALE).
 *
 * If the policy requires a human's consent, the tool asks by tool_allowed. The call is then answered with the question,
 * and comes again from the start with the answer. Until tool_allowed returns true, the tool may not change anything.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "json/jenc.h"
#include "json/jscan.h"
#include "policy/policy.h"

/* What every client can hold in a number. */
#define SAFE_INT_MAX 9007199254740991

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
	TOOL_NULLABLE = 2,  /* output: null is possible */
	TOOL_VARIABLES = 4, /* of a map: its keys are names of environment variables */
	TOOL_BYTES =
		4, /* TOOL_STRING: contents, may hold NUL (tool_arg_bytes); refused elsewhere */
	TOOL_TIME =
		8, /* TOOL_INT: ms since 1970, or an ISO 8601 time in UTC; tool_arg_int takes both */
};

struct tool_field {
	const char *name; /* NULL: end of the table */
	enum tool_type type;
	unsigned flags;
	/* TOOL_INT: range, none if both are 0; strings: least and most characters; arrays and maps: most elements, in
	 * max; 0: only the limits that all calls have */
	int64_t min, max;
	const char *text;	  /* description */
	const char *fallback;	  /* default, as JSON; NULL: none */
	const char *const *words; /* TOOL_STRING: the only values, NULL-terminated; NULL: any */
	const struct tool_field *sub;
};

/* Rows of a table of fields: name, flags, description, then what else the row has (.min, .max, .fallback, .words,
 * .sub). The table ends by { 0 }. */
/* clang-format off */
#define TF_STRING(...) TF_ROW(TOOL_STRING, __VA_ARGS__)
#define TF_INT(...) TF_ROW(TOOL_INT, __VA_ARGS__)
#define TF_BOOL(...) TF_ROW(TOOL_BOOL, __VA_ARGS__)
#define TF_STRINGS(...) TF_ROW(TOOL_STRINGS, __VA_ARGS__)
#define TF_MAP(...) TF_ROW(TOOL_MAP, __VA_ARGS__)
#define TF_OBJECT(...) TF_ROW(TOOL_OBJECT, __VA_ARGS__)
#define TF_OBJECTS(...) TF_ROW(TOOL_OBJECTS, __VA_ARGS__)
#define TF_ANY(...) TF_ROW(TOOL_ANY, __VA_ARGS__)
#define TF_ROW(type_, name_, flags_, text_, ...) \
	{ .name = name_, .type = type_, .flags = flags_, .text = text_, __VA_ARGS__ }
/* clang-format on */

enum tool_hint {
	HINT_READ_ONLY = 1,
	HINT_DESTRUCTIVE = 2,
	HINT_IDEMPOTENT = 4,
	HINT_OPEN_WORLD = 8,
};

struct builtin_call;

struct builtin_tool {
	const char *name, *title, *text;
	enum policy_category category;
	unsigned hints;
	const struct tool_field *in, *out; /* in: without sandboxId, which all take */
	void (*show)(struct buf *text, struct slice object,
		     size_t room); /* for models (model_text.h); NULL: a line for each member */
	/* One of these three. On a thread: work ends the call; result writes the members of its result, or returns <0
	 * with e. */
	void (*work)(struct builtin_call *c);
	int (*result)(struct builtin_call *c, struct jw *w, struct err *e);
	bool waits; /* its thread sleeps most of the time: not counted among those that work */
	void (*start)(struct builtin_call *c); /* on the loop */
	/* With start: the caller is gone, or the time is over (timed_out): end it soon, by one of both, with what
	 * there is. May be NULL for tools that end in start. */
	void (*cancel)(struct builtin_call *c, bool timed_out);
	/* The member of the configuration that belongs to this tool, an object (toolbox_setting), and its check, which
	 * gets an empty slice if it is absent. NULL: there is none. */
	const char *setting;
	int (*setting_check)(struct slice object, struct err *e);
};

/* A row: what names it, and its tables; then what else it has (.show, .work, .result, .waits, .start, .cancel, .setting). */
/* clang-format off */
#define BUILTIN_TOOL(name_, title_, text_, category_, hints_, in_, out_, ...) \
	{ .name = name_, .title = title_, .text = text_, .category = category_, \
	  .hints = hints_, .in = in_, .out = out_, __VA_ARGS__ }
/* clang-format on */

/* Tables of the families, each ended by a row without name; toolbox.c lists them in one order. */
extern const struct builtin_tool read_tools[], glob_tools[], write_tools[], edit_tools[],
	patch_tools[], list_tools[], grep_tools[], remove_tools[], info_tools[], watch_tools[],
	command_tools[], process_tools[], pr_tools[], other_tools[];

struct toolbox; /* roots, policy, environment, limits: toolbox.h */

struct builtin_call {
	struct toolbox *box;
	const struct builtin_tool *tool;
	struct slice args; /* raw object, checked; lives as long as the call */
	bool dry_run;	   /* nothing may be changed */
	bool approved;	   /* a human allowed this very call: tool_allowed returns true */
	void *own;	   /* the tool's, freed by it before it ends the call */
};

/* Arguments by name, after the check: a fallback replaces an absent one, null is absent. */
struct jval tool_arg(const struct builtin_call *c, const char *name);
char *tool_arg_str(const struct builtin_call *c,
		   const char *name); /* NULL if absent; caller frees; holds no NUL */
/* Appends the bytes of a TOOL_STRING; false if absent. */
bool tool_arg_bytes(const struct builtin_call *c, const char *name, struct buf *ret);
int64_t tool_arg_int(const struct builtin_call *c, const char *name, int64_t absent);
/* True if it is this word. */
bool tool_arg_is(const struct builtin_call *c, const char *name, const char *word);
bool tool_arg_bool(const struct builtin_call *c, const char *name, bool absent);
/* TOOL_STRINGS or TOOL_MAP (as NAME=value) as a NULL-terminated array; NULL if absent. The caller frees it by strv_free. */
char **tool_arg_strv(const struct builtin_call *c, const char *name);

/* members: raw members of the result object ("a":1,"b":2), copied. From any thread. */
void tool_done(struct builtin_call *c, struct slice members);
/* A file that the tool makes besides its result. Where the tools run for a session it goes to the daemon with the
 * result, as _meta.acpd.artifact {name, type, text | base64}, and becomes an artifact of the session; elsewhere it is
 * dropped. */
struct tool_artifact {
	const char *name, *type; /* for people; media type */
	struct slice bytes;
};
/* Shown to models beside the text. */
struct tool_image {
	struct slice bytes;
	const char *type;
};
struct tool_result {
	struct slice members;
	struct slice text; /* for models; empty: as the tool's row says */
	const struct tool_image *image;
	const struct tool_artifact *artifact;
};
void tool_answer(struct builtin_call *c, const struct tool_result *r);
/* Bytes of text that its client shows its model. */
size_t tool_room(const struct builtin_call *c);
/* The same as tool_done, with such a file. */
void tool_done_with(struct builtin_call *c, struct slice members, const struct tool_artifact *a);
/* e->reason is the code. extra: further raw members of "error", or empty. */
void tool_fail(struct builtin_call *c, const struct err *e, struct slice extra);
/* True if a human has allowed it. False: the call is ended (the question was asked, or the answer was no, or nobody can
 * be asked), the tool just returns. title: one line, what would be done; paths: raw array of strings, or empty;
 * command: raw string or array, or empty. */
bool tool_allowed(struct builtin_call *c, const char *title, struct slice paths,
		  struct slice command);
/* A message of notifications/progress, if the client asked for it. total 0: unknown. From any thread. */
void tool_progress(struct builtin_call *c, double progress, double total, struct slice message);
/* True once the caller is gone or the time is over: long work checks it and ends, with what there is. From any
 * thread. */
bool tool_cancelled(const struct builtin_call *c);
/* errno as the error of a tool: its POSIX name where file tools have it, else EIO and the like. what: "cannot read
 * src/a.c". */
int tool_errno(struct err *e, int code, const char *what, const char *path);

/* The i-th tool of all, in the order of tools/list; NULL: there is none. */
const struct builtin_tool *tool_at(size_t i);
/* Some tool has that name, or one that the glob matches. */
bool tool_known(const char *glob);
/* NULL: there is none of that name. */
const struct builtin_tool *tool_find(struct slice name);

/* A plain number of limits.h as JSON, for defaults. */
#define NUMBER_(n) #n
#define NUMBER(n) NUMBER_(n)

#define PATH_TEXT "relative to the working directory, or absolute inside the roots"
extern const char *const encoding_words[]; /* utf-8, base64 */
extern const char *const type_words[];	   /* of files */
