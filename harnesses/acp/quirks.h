/*
 * quirks.h - what differs between stdio ACP agents, as data: one row for each known agent, none for an unknown one.
 *
 * ACP does not define what a usage number covers, how a provider's failure looks, where the key goes or how to keep an
 * agent from contacting its maker. A row defines that; the adapter reads rows and knows no agent by name. The rows are
 * in quirks.c, each measured on the release named there. A manifest entry names one by "quirks". A program with an
 * adapter of its own (OpenCode) brings its own row, with hooks: functions for what a table cannot express.
 */
#pragma once

#include "harnesses/harness.h"
#include "rpc/rpc.h"

/* What the numbers of session/prompt's usage cover. */
enum acp_usage_scope {
	ACP_USAGE_TURN,	     /* as the schema means it */
	ACP_USAGE_LAST_CALL, /* the last model call only: others of the turn are unknown */
	ACP_USAGE_SESSION,   /* all since the process started: the turn is the difference */
};

/* The place of the numbers. */
enum acp_usage_place { ACP_USAGE_IN_USAGE, ACP_USAGE_IN_QUOTA };

/* How session/new takes a system prompt. */
enum acp_system_prompt {
	ACP_SYSTEM_NONE,
	ACP_SYSTEM_META,
	ACP_SYSTEM_PLAN /* plan passes it */
};

/*
 * A variable of the child. {key} {baseUrl} {root} {model} {smallModel} {headers} {home} are replaced, a row with one
 * that has no value is left out. root: baseUrl without its version. headers: "Name: value" lines.
 */
struct acp_env {
	const char *api; /* only if the provider speaks it; NULL: always */
	const char *name, *value;
};

struct acp_file {
	const char *path, *text; /* below the home; text NULL: a directory */
};

/*
 * A text of the agent that is no answer of the model: it must begin and end so. certain: no model writes that by
 * itself; else it counts only if the reply has no usage.
 */
struct acp_text {
	const char *begins, *ends; /* NULL: anything */
	bool certain;
};

struct acp_hooks {
	size_t state_size; /* zeroed, for harness->hook_state */
	void (*open)(struct harness *h, const struct harness_req *req);
	void (*free)(struct harness *h);
	/* May point ev->update to a text in scratch; false: not to be shown. */
	bool (*on_update)(struct harness *h, struct harness_event *ev, struct buf *scratch);
	/* A notification that is not ACP's. */
	void (*on_notification)(struct harness *h, const char *method, struct slice params);
	/* False: it would read the prompt as an unknown command, and drop it. */
	bool (*on_turn_start)(struct harness *h, struct slice content);
	/* True: the usage of the turn has been reported, that of the reply is not needed. */
	bool (*on_turn_end)(struct harness *h, struct harness_turn_end *end);
};

struct acp_quirks {
	const char *name;
	enum acp_usage_scope usage;
	enum acp_usage_place usage_place;
	bool input_excludes_cache, output_excludes_reasoning;
	const struct acp_text
		*error_texts; /* a failed turn reported as agent text; ends with {NULL} */
	const struct acp_text *notice_texts; /* retries and the like reported as agent text */
	const char *echo_text;		     /* agent text that only repeats a setting: dropped */
	/* rawOutput[exit_in], an object or an array of them, holds exit_code of a command */
	const char *exit_in, *exit_code;
	bool images_alone; /* as in harness_caps */
	bool no_stdio_mcp; /* session/new refuses them: they are in mcp_file */
	const char *mcp_file;
	const char *approval_modes
		[3]; /* session mode for each enum harness_approval; NULL: as it starts */
	const char *approval_option; /* or a config option with these values */
	const char *approval_values[3];
	const char *model_prefix; /* of model values, when the provider input is used */
	bool dirs_by_plan; /* plan passes additional directories: the agent has no option for them */
	bool edits_by_us; /* it asks for every edit; this adapter decides which one accept-edits allows */
	/* With HARNESS_RULES_READS it asks about this call, which it would not by its approval; NULL: never. */
	bool (*reads_unasked)(struct slice call);
	const struct harness_asking *asks; /* by enum harness_call; NULL: not known */
	bool model_from_start; /* the model is set by the environment and cannot be changed */
	enum acp_system_prompt system_prompt;
	enum harness_stop stop;
	const char *
		login_keys; /* variables of the keys that it logs in with, as text; NULL: unknown */
	struct harness_places places;
	const struct acp_env *env; /* ends with {NULL}; the order matters: later wins */
	const struct acp_file *files;
	const struct acp_hooks *hooks;
};

extern const struct acp_quirks acp_no_quirks;
extern const struct acp_quirks acp_quirks[]; /* ends with a row without a name */

/* render.c: environment and files of a row, for plan. */
int acp_quirks_plan(const struct acp_quirks *q, const struct harness_req *req,
		    struct harness_plan *plan, struct err *e);
