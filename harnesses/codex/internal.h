/*
 * internal.h - what the adapter's files share.
 *
 * codex.c reads lines and dispatches them by a table; talk.c sends; thread.c opens the thread; options.c holds its settings; turn.c
 * drives turns; items.c keeps the table of what Codex shows in one (render.c writes the tool calls, diff.c their
 * patches); asks.c turns Codex's questions into ours; notices.c has everything else for people. silence.c ends a turn
 * whose provider does not answer.
 *
 * struct harness owns all of it, and frees it. An item lives from item/started to the end of its turn: a message for an
 * item that is not in the table belongs to an older turn and is dropped.
 */
#pragma once

#include "base/list.h"
#include "base/strv.h"
#include "harnesses/adapter.h"
#include "json/jenc.h"
#include "json/jstr.h"
#include "rpc/rpc.h"

#define PROVIDER_ID "acpd"
#define PROVIDER_KEY_ENV "ACPD_PROVIDER_KEY"
#define PROVIDER_HEADER_ENV "ACPD_PROVIDER_HEADER_%u"
#define TEXT_MAX (32 * MIB)
#define PATH_LEN_MAX 4096
#define OUTPUT_SHOWN_MAX (64 * KIB) /* of a running command; its end brings all that Codex kept */
#define OUTPUT_GROWTH 8		    /* shown at once if an eighth of it is new */
#define OUTPUT_DELAY_MS 200

enum phase { PHASE_OPENING, PHASE_READY, PHASE_FAILED };

enum turn_phase {
	TURN_NONE,
	TURN_STARTING, /* turn/start is sent, the turn's id unknown */
	TURN_RUNNING,
	TURN_CLEANING, /* over for Codex; its commands are being stopped */
};

enum mode { MODE_BUILD, MODE_PLAN };

/* What may be chosen, by set_config or by Codex itself. */
struct settings {
	char *model;
	char *effort; /* NULL: the model's default */
	enum mode mode;
	enum harness_approval approval;
};

struct model {
	char *id, *name, *description;
	char *efforts; /* raw array of {reasoningEffort, description}; NULL: unknown to Codex */
};

/* A question of Codex that waits for the client; the result for each answer is prepared. */
#define ASK_CHOICES_MAX 8
struct codex_choice {
	const char *kind; /* ACP PermissionOptionKind */
	char *result;	  /* raw */
};

struct codex_ask {
	struct list link;
	uint64_t id;
	char *rpc_id;  /* raw, as it came: it begins at 0 */
	char *item_id; /* tool call that goes on when it is allowed, or NULL */
	char *remember; /* what allow_always allows, if Codex does not remember it: an MCP tool, a command; or NULL */
	const char *tool; /* of an MCP server, if that is what is asked; borrowed from remember */
	bool wide;	  /* it asks for more than its call shows */
	struct codex_choice choices[ASK_CHOICES_MAX];
	size_t nchoices;
	char *on_cancel; /* raw result; NULL: the answer is that of an elicitation */
	char *questions; /* item/tool/requestUserInput: raw array; its answers are built from it */
};

/* An item of the running turn. */
struct codex_item {
	struct list link;
	char *id;
	char *shown;		    /* the same, but unique in the turn: gateways repeat them */
	const struct tool_row *row; /* NULL: a message, a thought or a compaction */
	unsigned nth;		    /* of this id in the turn, from 0 */
	bool started;
	bool streamed; /* some of its text has been sent */
	bool is_done;
	char *tool;	   /* MCP: its name */
	struct buf body;   /* members of the tool call without id and status */
	size_t head;	   /* bytes of it that say what the call is, before its content */
	struct buf output; /* of a command so far, or an MCP tool's progress */
	size_t unsent;	   /* bytes of output not shown yet */
	char *paths;	   /* fileChange: raw changes */
};

struct harness {
	struct harness_host host;
	struct harness_caps caps;
	enum phase phase;
	bool restoring, restored, elicitation, has_provider;
	char *cwd, *thread_id, *wanted_model, *system_prompt, *version;
	bool system_override;
	char *mcp_servers, *additional_dirs; /* raw */
	bool inner_sandbox, inner_network;
	int64_t mcp_call_ms;
	bool limited; /* the number of tool calls is: each is asked, even if it was allowed for good */
	bool ruled;	/* the session has rules, so each call is asked */
	bool asks_each; /* Codex has the setting for these two */
	struct settings now, wanted;
	unsigned setting; /* changes that wait for their answer; wanted: the state after the last of them */
	unsigned echoes; /* notices of our own changes that have yet to come: an old one is no news */
	struct model *models;
	size_t nmodels;
	struct rpc_calls calls;
	struct list asks;
	uint64_t last_ask;
	/* the turn */
	enum turn_phase turn;
	char *turn_id;
	bool cancelled, interrupt_sent;
	struct harness_turn_end end; /* TURN_CLEANING: what will be reported */
	char *used_model;	     /* NULL: as set */
	unsigned cleaning;	     /* TURN_CLEANING: answers that are awaited */
	struct list children;	     /* threads of subagents */
	rpc_reply_fn on_cleaned;     /* of the turn that stops them */
	uint64_t last_child;
	struct list items;
	bool output_waits;   /* the timer runs, for output */
	unsigned idle_ms;    /* limit of silence from the provider input; 0: none */
	unsigned awaited_ms; /* limit for the beginning of an answer; 0: none is awaited */
	uint64_t awaited_until;
	unsigned silent_ms; /* the turn ends because no answer began for so long; 0: it does not */
	bool outlived;	    /* a command of an earlier turn may still run */
	unsigned mcp_starting;
	struct list meters;	  /* tokens of each thread as last reported */
	char **allowed, **warned; /* MCP tools and commands always allowed; warnings shown */
};

typedef void notify_fn(struct harness *h, struct slice params);

/* talk.c */
int codex_call(struct harness *h, const char *method, struct slice params, rpc_reply_fn fn,
	       uint64_t tag);
/* The same from the members of the params. */
#define codex_request(h, method, fn, tag, ...)                                                     \
	codex_request_of(h, method, JW_MEMBERS(__VA_ARGS__), fn, tag)
int codex_request_of(struct harness *h, const char *method, const struct jw_member *params,
		     rpc_reply_fn fn, uint64_t tag);
/* Sends on an update built in b; one that is not valid ACP is dropped. */
void codex_event(struct harness *h, const struct buf *b);
/* The same from its members without sessionUpdate. */
#define codex_emit(h, kind, ...) codex_emit_of(h, kind, JW_MEMBERS(__VA_ARGS__))
void codex_emit_of(struct harness *h, enum harness_update kind, const struct jw_member *members);
/* The text of an error answer. */
void codex_error_text(struct slice error, char *ret, size_t n);
static inline char *codex_str(struct slice object, const char *key)
{
	return jobj_str(object, key, TEXT_MAX);
}
/* The same for a text that is only shown, whatever it holds. */
static inline char *codex_shown(struct slice object, const char *key)
{
	return jobj_shown(object, key, TEXT_MAX);
}
/* Notifications of Codex, each in the file of its subject. */
notify_fn codex_on_settings, codex_on_turn_started, codex_on_turn_completed, codex_on_usage,
	codex_on_item_started, codex_on_item_completed, codex_on_message_delta,
	codex_on_thought_delta, codex_on_thought_part, codex_on_output_delta,
	codex_on_patch_updated, codex_on_mcp_progress, codex_on_resolved, codex_on_error,
	codex_on_warning, codex_on_deprecation, codex_on_rerouted, codex_on_renamed, codex_on_plan,
	codex_on_mcp_status;
/* plan.c */
int codex_plan(const struct harness_def *def, const struct harness_req *req,
	       struct harness_plan *plan, struct err *e);
/* The model to begin with, NULL: Codex's own choice. One that the provider does not list is not begun with: the
 * core finds it missing among the options and reports that. The caller frees. */
char *codex_model_wanted(const struct harness_req *req);
/* thread.c */
int codex_thread_open(struct harness *h, struct err *e);
/* options.c */
void codex_options_put(const struct harness *h, struct jw *w, const char *key);
void codex_settings_put(const struct harness *h, const struct settings *s, struct jw *w);
void codex_approval_put(const struct harness *h, const struct settings *s, struct jw *w);
void codex_settings_done(struct settings *s);
void codex_models_load(struct harness *h, struct slice result);
void codex_models_from_provider(struct harness *h, const struct harness_provider *p);
void codex_models_free(struct harness *h);
int codex_set_config(struct harness *h, uint64_t token, struct slice params, struct err *e);
/* turn.c */
int codex_prompt(struct harness *h, struct slice content, struct slice meta, struct err *e);
int codex_steer(struct harness *h, uint64_t token, struct slice content, struct err *e);
void codex_limit(struct harness *h, int64_t tool_calls);
void codex_cancel(struct harness *h);
void codex_interrupt(struct harness *h);
/* silence.c: a model call is about to be made; something else must happen first; the call is being answered. */
void codex_answer_awaited(struct harness *h, bool retry);
void codex_answer_delayed(struct harness *h);
void codex_answer_begun(struct harness *h);
void codex_silent_put(const struct harness *h, struct turn_error *ret);
/* Starts the timer for the answer that is awaited, if one is. */
void codex_answer_watch(struct harness *h);
/* The time of that timer is over. True: no answer has begun, so the turn must be interrupted. */
bool codex_answer_overdue(struct harness *h);
/* children.c */
void codex_child_note(struct harness *h, const char *method, struct slice params);
/* The number of answers that will come, each to cleaned. */
unsigned codex_children_stop(struct harness *h, rpc_reply_fn cleaned);
void codex_children_free(struct harness *h);
/* usage.c */
void codex_meters_free(struct harness *h);
/* input.c: ACP content blocks as Codex's input. */
/* <0: a block cannot be put, e names it. */
int codex_input_put(struct jw *w, const char *key, struct slice content, struct err *e);
/* errors.c: a TurnError; *ret_stop is set instead when it is an ACP stop reason. */
void codex_error_classify(struct slice error, struct turn_error *ret, const char **ret_stop);
/* item_list.c: an item of the running turn, and how it is found. */
struct codex_item *codex_item_newest(struct harness *h, const char *id);
/* The newest text of this id. */
struct codex_item *codex_item_text(struct harness *h, const char *id);
/* The text that this id has now: one that has not ended, or a new one. */
struct codex_item *codex_item_for_text(struct harness *h, const char *id);
/* The open call of this id that is like the item; else, unless only that will do, the first of its kind. */
struct codex_item *codex_item_same(struct harness *h, const char *id, struct slice item, bool only);
struct codex_item *codex_item_add(struct harness *h, const char *id);
/* Another item with the id of one before it. */
struct codex_item *codex_item_again(struct harness *h, const struct codex_item *before);
/* items.c */
struct codex_item *codex_item_find(struct harness *h, const char *id);
/* The open call of that tool of an MCP server. */
struct codex_item *codex_item_find_mcp(struct harness *h, const char *tool);
/* True if everything that a patch changes lies in the workspace. */
bool codex_item_in_workspace(const struct harness *h, const struct codex_item *it);
void codex_output_show(struct harness *h);
/* True if a tool call of the turn has not ended. */
bool codex_items_open(struct harness *h);
void codex_item_goes_on(struct harness *h, struct codex_item *it);
void codex_items_free(struct harness *h);
/* render.c: one row for each type of item that is a tool call. */
struct tool_row {
	const char *type;
	const char *name, *label; /* for items that do not name a tool or their action */
	const char *kind;
	/* title, kind, name, locations, rawInput: what is known from the start */
	void (*head)(struct jw *w, struct slice item, const struct tool_row *row);
	/* elements of content; NULL: none */
	void (*content)(struct jw *w, struct slice item);
	bool (*failed)(struct slice item); /* beyond its status; NULL: never */
};
const struct tool_row *codex_tool_row(struct jval type);
/* Writes what an item reports at its end (output, exit code, result, error) as an object. */
void codex_output_put(struct jw *w, const char *key, struct slice item);
/* ACP status of an item as it stands. */
const char *codex_tool_status(const struct tool_row *row, struct slice item, bool completed);
/* render.c: the shell's quoting taken off `bash -lc '...'`; the caller frees. */
char *codex_command_text(const char *command);
/* diff.c: one ACP diff for each hunk. */
void codex_diff_put(struct jw *w, struct slice changes);
/* asks.c */
void codex_on_request(struct harness *h, const struct rpc_msg *m);
void codex_answer(struct harness *h, uint64_t ask_id, struct slice result);
struct codex_ask *codex_ask_new(struct harness *h, struct slice rpc_id);
void codex_respond(struct harness *h, struct slice rpc_id, struct slice result);
/* Call it at the end of a turn: Codex does not wait for any of them any more. */
void codex_asks_drop(struct harness *h, bool tell);
/* elicit.c */
void codex_elicitation(struct harness *h, const struct rpc_msg *m);
void codex_user_input(struct harness *h, const struct rpc_msg *m);
void codex_elicit_answer(struct harness *h, const struct codex_ask *a, struct slice result);
/* notices.c */
bool codex_name_known(char *const *names, const char *text);
