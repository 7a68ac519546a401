/* toolbox_internal.h - what the files of the toolbox share: calls in progress, and their events for the loop. */
#pragma once

#include "base/limits.h"
#include "base/list.h"
#include "tools/builtin/core/tool_path.h"
#include "tools/builtin/core/tool.h"
#include "tools/builtin/core/toolbox.h"

#include <pthread.h>
#include <stdatomic.h>

enum call_stop { STOP_NONE, STOP_CLIENT_GONE, STOP_TIMED_OUT };
enum call_state {
	CALL_ANSWERED,	/* its end is on the way, it never ran */
	CALL_LISTENING, /* open until cancelled */
	CALL_WAITING,
	CALL_RUNNING,
};

struct toolbox_call {
	struct mcp_call base; /* ops NULL: its client is gone */
	struct builtin_call tool;
	struct list link;  /* in box->calls */
	struct buf params; /* raw object; tool.args and token point into it */
	struct slice token;
	enum call_state state; /* on the loop */
	atomic_int stop;       /* enum call_stop */
	atomic_bool ended;     /* its end is on the way */
	struct loop_timer timer;
	int64_t time_ms, result_max; /* by policy; 0, -1: none */
	bool text_only;	 /* its client would show structuredContent to a model, so there is none */
	size_t text_max; /* bytes of text that are shown */
	bool threaded;
	pthread_t thread;
};

enum event_kind { EVENT_PROGRESS, EVENT_LISTENING, EVENT_RESULT, EVENT_ERROR };

/* Something for the loop, in the order it was made. */
struct event {
	struct list link;
	struct toolbox_call *call;
	enum event_kind kind;
	struct buf text; /* params, result, or error */
};

struct root {
	char *path; /* canonical */
	int fd;	    /* O_PATH */
};

struct toolbox {
	struct mcp_backend base;
	struct loop *loop;
	struct toolbox_config config;
	struct policy *policy;
	struct root *roots; /* the longest first */
	size_t nroots;
	unsigned umask;
	char sandbox_id[80];
	struct list calls; /* all, oldest first */
	unsigned working, waiting;
	pthread_mutex_t lock; /* events */
	struct list events;
	struct loop_io wake;
	int64_t *called; /* how often, by tool */
	char key[32];	 /* of answers of humans */
	struct {
		uint64_t until;
		char nonce[32];
	} used[TOOL_ASKS_MAX]; /* answers that were taken; lock */
	struct {
		void *p;
		void (*release)(void *p);
	} kept[PARTS];
	struct toolbox *earlier; /* the box that had to stay allocated before this one */
};

static inline struct toolbox_call *toolbox_call_of(const struct builtin_call *c)
{
	return container_of(c, struct toolbox_call, tool);
}

/* toolbox_call.c */
struct mcp_call *toolbox_call_new(struct toolbox *b, struct slice params,
				  const struct mcp_reply_ops *ops, void *ctx);
void toolbox_call_start(struct toolbox_call *c);
void toolbox_call_cancel(struct mcp_call *c);
/* Sends an event to the loop, from any thread: progress, or its end with a raw result or error. Takes the bytes. */
void toolbox_call_post(struct toolbox_call *c, enum event_kind kind, struct buf *text);
/* Acknowledges a subscription to nothing. */
void toolbox_call_listening(struct toolbox_call *c);
void toolbox_call_error(struct toolbox_call *c, int code, const char *reason, const char *message);
/* tool_result.c: an error as a result of tools/call. */
void toolbox_error_put(const struct toolbox_call *c, const struct err *e, struct slice extra,
		       struct buf *out);
int toolbox_calls_open(struct toolbox *b);
/* False: a call has not ended in time, and its thread still uses the box. */
bool toolbox_calls_close(struct toolbox *b);

/* tool_schema.c */
extern const struct tool_field tool_common[]; /* arguments of every tool */
/* A row of tools/list; an output schema obliges to structured results. */
void tool_put(struct jw *w, const struct builtin_tool *t, bool output);

/* tool_args.c: 0 or -EINVAL with the field. */
int tool_args_check(const struct builtin_tool *t, struct slice args, struct err *e);

/* toolbox_config.c: the roots and the policy of box->config. */
int toolbox_config_open(struct toolbox *b, struct err *e);
void toolbox_config_close(struct toolbox *b);
/* The longest root that path is in, and the rest of the path; NULL: none. */
const struct root *root_of(const struct toolbox *b, const char *path, const char **rest);
bool root_is(const struct toolbox *b, const char *real);
bool toolbox_has_tool(const struct toolbox *b, const struct builtin_tool *t);
/* False: policy denies it, or asks, and the call is ended. */
bool toolbox_policy_pass(struct toolbox_call *c);
