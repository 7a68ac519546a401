/*
 * internal.h - what the adapter's files share, and what each file does:
 *
 *	plan.c     argv, environment, files of the home; it holds the extension that is loaded into Pi
 *	pi.c       life: opening, the table of records, answers to our commands
 *	options.c  models, thinking levels, modes, approval as config options; slash commands
 *	turn.c     prompts, cancel, steering, the end of a turn
 *	message.c  the model's output: chunks, tool calls as they stream in, usage
 *	tools.c    tool executions as tool calls
 *	asks.c     dialogs of extensions: permission questions and elicitations, reports of the bridge
 *	notes.c    retries, compaction, queue and title
 *	errors.c   the class of an error from its text, which is all that Pi gives
 *
 * Our commands carry string ids of digits; answers are matched by rpc_calls, to which a failed one looks like an error.
 */
#pragma once

#include "base/buf.h"
#include "base/list.h"
#include "harnesses/adapter.h"
#include "json/jenc.h"
#include "rpc/rpc.h"

#define PI_PROVIDER "acpd"
#define PI_BRIDGE_COMMANDS "/acpd:"

#define PI_TEXT_MAX (32 * MIB) /* of a string that a record may carry within one line */
#define PI_CALLS_MAX 1024      /* open tool calls and dialogs that are tracked */

enum pi_phase { PI_OPENING, PI_READY, PI_FAILED };

/* A tool call between its first sign and its end. */
struct pi_call {
	struct list link;
	char *id;
	char *diff; /* raw {path, oldText, newText}, once the bridge has reported it */
};

enum pi_dialog { PI_PERMISSION, PI_QUESTION, PI_CONFIRM };

struct pi_ask {
	struct list link;
	enum pi_dialog dialog;
	uint64_t id;
	char *native_id; /* raw */
};

struct pi_turn {
	bool running, cancelled, settled, aborted;
	const char *stop; /* stop reason by the last message; NULL: failed with error */
	struct turn_error error;
	char message_id[40];
	bool block_seen; /* the current block has had a delta */
	bool gap;	 /* a paragraph's end is held back, more may follow */
};

struct harness {
	struct harness_host host;
	struct harness_caps caps;
	enum pi_phase phase;
	enum harness_mode opened;
	bool own_provider, elicitation;
	bool lost; /* this session was prompted, but Pi has nothing of it */
	char *session_id, *cwd, *model, *mcp_servers, *version;
	char *now_model, *now_provider, *now_level, *now_mode, *now_approval;
	char *models, *levels; /* raw arrays */
	char *key;	       /* until the bridge has it */
	unsigned settings;     /* set_config calls that wait */
	bool stats_open, stats_stale, queued;
	bool limited;	/* the bridge holds a number of tool calls */
	unsigned rules; /* enum harness_rules, as the bridge knows them */
	struct rpc_calls calls;
	struct list tool_calls, asks;
	unsigned ntool_calls, nasks;
	uint64_t last_ask;
	char compaction[24];
	struct pi_turn turn;
};

/* One record of Pi: the members that decide its handling, found in one pass. */
enum pi_member {
	M_TYPE,
	M_ID,
	M_EVENT,
	M_MESSAGE,
	M_CALL,
	M_TOOL,
	M_ARGS,
	M_PARENT,
	M_RESULT,
	M_PARTIAL,
	M_IS_ERROR,
	M_COUNT,
};
enum pi_delta { D_TYPE, D_INDEX, D_DELTA, D_CONTENT, D_ID, D_TOOL, D_CALL, D_COUNT };

struct pi_record {
	struct slice line;
	struct jslot m[M_COUNT];
	struct jslot delta[D_COUNT]; /* of assistantMessageEvent */
};

/* Records of Pi, each in the file of its subject. */
typedef void pi_record_fn(struct harness *h, const struct pi_record *r);
pi_record_fn pi_on_level, pi_on_agent_start, pi_on_settled, pi_on_message_start,
	pi_on_message_update, pi_on_message_end, pi_on_tool_start, pi_on_tool_update,
	pi_on_tool_end, pi_on_dialog, pi_on_retry, pi_on_compaction_start, pi_on_compaction_end,
	pi_on_queue, pi_on_title, pi_on_extension_error;

/* plan.c: bridge.mjs */
extern const char pi_bridge[];

/* plan.c */
int pi_plan(const struct harness_def *def, const struct harness_req *req, struct harness_plan *plan,
	    struct err *e);

/* pi.c: sends {"id","type",members}, which may be NULL; 0 or -errno. */
#define pi_call(h, type, fn, tag, ...) pi_call_of(h, type, JW_MEMBERS(__VA_ARGS__), fn, tag)
int pi_call_of(struct harness *h, const char *type, const struct jw_member *members,
	       rpc_reply_fn fn, uint64_t tag);
/* Text of an answer's error, for a message. */
void pi_reply_error(const struct rpc_msg *m, char *ret, size_t size);

/* options.c: model and level anew; then the core's call `token` is answered, or the list is sent as an update. */
int pi_refresh(struct harness *h, uint64_t token);
void pi_options_put(struct harness *h, struct jw *w, const char *key);
void pi_on_state(struct harness *h, struct slice data);
void pi_commands_emit(struct harness *h, struct slice commands);
int pi_set_config(struct harness *h, uint64_t token, struct slice params, struct err *e);
int pi_send_model(struct harness *h, const char *provider, const char *id, rpc_reply_fn fn,
		  uint64_t tag);
/* The last step of opening is done. */
void pi_opened(struct harness *h);
void pi_open_failed(struct harness *h, const char *what);

/* turn.c */
int pi_prompt(struct harness *h, struct slice content, struct slice meta, struct err *e);
int pi_steer(struct harness *h, uint64_t token, struct slice content, struct err *e);
void pi_cancel(struct harness *h);
void pi_limit(struct harness *h, int64_t tool_calls);
void pi_on_timer(struct harness *h);
/* Asks how full the context is. */
void pi_ask_stats(struct harness *h);

/* message.c */
/* usage: raw object of Pi's; numbers that are all 0 were not reported. */
void pi_usage(struct harness *h, struct slice usage, struct slice message, const char *source);

/* tools.c */
/* A tool call as it is known now: announced, or updated. Absent: name, args, parent. */
void pi_tool_emit(struct harness *h, struct jval id, struct jval name, struct jval args,
		  struct jval parent, const char *status);
/* name, title, kind, locations, rawInput as members of an object that is open. */
void pi_tool_describe(const struct harness *h, struct jw *w, struct jval name, struct jval args);
void pi_tool_diff(struct harness *h, struct slice message);
/* diff: raw {path, oldText, newText}, as a content element. */
void pi_put_diff(struct jw *w, struct slice diff);
void pi_calls_free(struct harness *h);

/* asks.c */
void pi_answer(struct harness *h, uint64_t ask_id, struct slice result);
/* withdraw: the core is notified; not when the adapter is freed. */
void pi_asks_drop(struct harness *h, bool withdraw);

/* notes.c */
void pi_notice(struct harness *h, const char *severity, const char *title, struct jval text);

/* errors.c */
void pi_error_classify(const char *text, struct turn_error *ret);
