/*
 * toolbox.h - the built-in tools as one MCP server: a backend (mcp/backend.h) in this process.
 *
 * It answers server/discover, tools/list, tools/call and an empty subscriptions/listen. Calls that may block run on
 * threads, TOOL_THREADS_MAX at a time, the others wait their turn in order; results, progress and questions come back
 * to the loop in the order they were made. A call whose client is gone or whose time is over is asked to end; if it
 * does not within TOOL_STOP_GRACE_MS, its client gets an error, and its later result is dropped.
 *
 * One object of configuration, read strictly, says what the tools may touch: {"roots": ["/abs", ...], "cwd":
 * "/abs", "stateDir": "/abs", "sandboxId": "...", "session": "...", "env": {NAME: value}, "policy": {...}, "dryRun":
 * bool, "tests": {...}, "interpreters": {...}, "tools": [names]}; only roots is required, cwd is the first root by
 * default. Roots are made canonical and must be directories; stateDir is made if it is absent.
 */
#pragma once

#include "base/err.h"
#include "loop/loop.h"
#include "tools/builtin/core/tool.h"
#include "tools/mcp/backend.h"

struct policy;

struct toolbox_config {
	char *text;   /* all of it, for toolbox_setting */
	char **roots; /* canonical, absolute */
	char *cwd, *state_dir, *sandbox_id, *session;
	char **env;   /* NAME=value: on top of the environment of commands */
	char **tools; /* the only ones listed; NULL: all */
	bool dry_run;
};

/* Decodes text; ret is to be freed by toolbox_config_done also after an error. */
int toolbox_config_parse(struct slice text, struct toolbox_config *ret, struct err *e);
void toolbox_config_done(struct toolbox_config *c);

/* Takes over what c points to. Before any thread: it reads the umask. NULL with e. */
struct toolbox *toolbox_new(struct loop *loop, struct toolbox_config *c, struct err *e);
/* Ends all calls, and waits at most TOOL_CLOSE_MS for their threads. If one still works then, the box stays allocated
 * until the process exits, which also ends the commands in the background. The loop can be freed in any case. */
struct toolbox *toolbox_free(struct toolbox *b);
struct mcp_backend *toolbox_backend(struct toolbox *b);

/* For the tools. What is kept changes only on the loop. */
const struct toolbox_config *toolbox_config(const struct toolbox *b);
/* A member of the configuration that is an object, raw; empty if it is absent. */
struct slice toolbox_setting(const struct toolbox *b, const char *member);
/* The directory of our temporary files, outside of the tree that is worked in. */
const char *toolbox_state_dir(const struct toolbox *b);
struct loop *toolbox_loop(const struct toolbox *b);
unsigned toolbox_umask(const struct toolbox *b);
const struct policy *toolbox_policy(const struct toolbox *b);
/* The id that createSandbox gives and every sandboxId must equal. */
const char *toolbox_sandbox_id(const struct toolbox *b);

/* State of a family of tools that outlives a call (processes in the background): made when first needed, released
 * with the box. */
enum toolbox_part { PART_PROCESSES, PART_TEST_LOGS, PART_SANDBOX, PARTS };
void *toolbox_kept(const struct toolbox *b, enum toolbox_part part);
void toolbox_keep(struct toolbox *b, enum toolbox_part part, void *p, void (*release)(void *p));
