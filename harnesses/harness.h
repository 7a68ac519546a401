/*
 * harness.h - the contract between the core and an adapter; all an adapter may know of the daemon.
 *
 * An adapter turns lines of its harness's native protocol into typed events and typed calls into native lines. It owns
 * no descriptor, no socket, no session, no process. One adapter object (struct harness) serves one session and one
 * child process; after the child's exit it is freed and, if the session goes on, a new one is opened with mode
 * HARNESS_RESTORE. To add a harness: one folder, one row in registry.c, one recorded transcript (harnesses/README.md).
 *
 * Order of calls: plan -> (the core spawns the child) -> open -> start -> on_line... ; prompt, cancel, answer, set_mode and
 * set_config only after the adapter has reported ready; one prompt at a time. Every prompt is answered by exactly one
 * turn_end, every call token by exactly one reply. If the child dies the core ends both itself, so an adapter need not
 * watch for it. on_line returns <0 with err filled on a protocol fault: the child is then stopped and the turn
 * fails. Spans given to callbacks are borrowed for the call only, in both directions; JSON spans have been validated.
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "json/jscan.h"

#include <stdbool.h>
#include <stdint.h>

/* What the harness can do, end to end. From its table row before a child exists, then as it reports itself. */
struct harness_caps {
	bool image, audio, embedded_context; /* promptCapabilities */
	bool http, sse;			     /* mcpCapabilities */
	bool additional_dirs;
	bool restore; /* can take up an earlier session by its native id */
};

struct harness_ops;

struct harness_env {
	char *name, *value;
};

/* One harness that can be chosen by id: a built-in row, changed or added to by the manifest. */
struct harness_def {
	char *id;
	char *title; /* for agentInfo; NULL: the id */
	const struct harness_ops *ops;
	char *command; /* absolute, or looked up in PATH */
	char **args;   /* NULL-terminated, without argv[0] */
	struct harness_env *env;
	size_t nenv;
	struct harness_caps caps;
	char *auth_methods; /* raw JSON array for initialize; NULL: none */
	bool configured;    /* added or changed by the manifest */
};

enum harness_mode { HARNESS_NEW, HARNESS_RESTORE };

struct harness_req {
	enum harness_mode mode;
	const char *native_id; /* HARNESS_RESTORE: the id reported by ready */
	const char *cwd;
	const char *home;	  /* private directory of the session, for HOME and configuration */
	struct slice mcp_servers; /* raw JSON array of ACP McpServer */
	struct slice additional_dirs; /* raw JSON array */
	struct slice provider; /* raw JSON object {api, baseUrl, key, headers?, model?}, or empty */
	bool boolean_config;   /* the client renders boolean config options */
	bool elicitation;      /* the client answers form elicitations */
	const char *auth_method; /* chosen by authenticate, or NULL */
};

/* argv and environment for the child; filled by plan, owned by the core. */
struct harness_plan;
void harness_plan_arg(struct harness_plan *p, const char *arg);
/* A later value replaces an earlier one. */
void harness_plan_env(struct harness_plan *p, const char *name, const char *value);
/* A file (text NULL: a directory) below the private home, made before the first start and not again: from then on the
 * home belongs to the harness. path is relative; its directories are made too. */
void harness_plan_file(struct harness_plan *p, const char *path, const char *text);

/* What kind of update an event carries; decides when it may be sent and to whom. The table is in events.c. */
enum harness_update {
	UPDATE_USER_CHUNK,
	UPDATE_AGENT_CHUNK,
	UPDATE_THOUGHT_CHUNK,
	UPDATE_TOOL_CALL,
	UPDATE_TOOL_CALL_UPDATE,
	UPDATE_PLAN,
	UPDATE_COMMANDS,
	UPDATE_MODE,
	UPDATE_CONFIG,
	UPDATE_INFO,
	UPDATE_USAGE,
	UPDATE_NOTICE,
	UPDATE_COMPACTION,
	UPDATE_COMPACTION_CHUNK,
	UPDATE_PLAN_UPDATE,
	UPDATE_PLAN_REMOVED,
	UPDATE_SUBAGENT,
	UPDATE_SESSION_MESSAGE,
	UPDATE_SESSION_MESSAGE_CHUNK,
	UPDATE_MAX,
};

struct harness_event {
	enum harness_update kind;
	struct slice update; /* the ACP update object */
	struct slice meta;   /* params._meta of the native message, raw object or empty */
};

/* Looks up and checks an update object: its kind, required members and their types. <0: not one we may send on. */
int harness_event_from_update(struct slice update, struct harness_event *ret, struct err *e);
const char *harness_update_name(enum harness_update kind);

struct harness_ready {
	const char *native_id;
	struct harness_caps caps;
	struct slice modes;	     /* raw SessionModeState or empty */
	struct slice config_options; /* raw array or empty */
	bool restored;		     /* HARNESS_RESTORE: the harness really has its context back */
};

/* A question the client must answer: a permission request or an elicitation. */
struct harness_ask {
	uint64_t id; /* chosen by the adapter, unique among its open ones */
	bool elicitation;
	struct slice params; /* raw params without sessionId */
};

/* Why a turn failed; the classes are a closed list (daemon/PROTOCOL.md). */
struct turn_error {
	const char *cls;
	const char *provider; /* NULL: unknown */
	int http_status;      /* 0: unknown */
	bool retryable;
	char message[256];
};

struct harness_turn_end {
	bool failed;
	const char *stop_reason; /* ACP StopReason if not failed */
	struct slice usage;	 /* raw object or empty */
	struct turn_error error;
};

struct harness_host_ops {
	/* One line to the child's stdin; 0 or -errno. */
	int (*send)(void *ctx, struct slice line);
	void (*ready)(void *ctx, const struct harness_ready *r);
	/* The session could not be opened; e->rpc is the code for session/new. The child is stopped. */
	void (*failed)(void *ctx, const struct err *e);
	void (*event)(void *ctx, const struct harness_event *ev);
	void (*ask)(void *ctx, const struct harness_ask *ask);
	void (*unask)(void *ctx, uint64_t ask_id);
	void (*turn_end)(void *ctx, const struct harness_turn_end *end);
	/* Answer to set_mode/set_config: err NULL on success; result may hold configOptions. */
	void (*reply)(void *ctx, uint64_t token, struct slice result, const struct err *e);
};

struct harness_host {
	const struct harness_host_ops *ops;
	void *ctx;
};

struct harness; /* private to the adapter */

struct harness_ops {
	const char *name;
	/* argv[0..] and environment; the base environment, HOME and the markers are the core's. */
	int (*plan)(const struct harness_def *def, const struct harness_req *req,
		    struct harness_plan *plan, struct err *e);
	struct harness *(*open)(const struct harness_def *def, const struct harness_req *req,
				const struct harness_host *host);
	/* The child runs: send what opens the session. */
	int (*start)(struct harness *h, struct err *e);
	int (*on_line)(struct harness *h, struct slice line, struct err *e);
	/* content: raw array of ContentBlock; meta: raw params._meta or empty. */
	int (*prompt)(struct harness *h, struct slice content, struct slice meta, struct err *e);
	void (*cancel)(struct harness *h);
	/* result: raw RequestPermissionResponse or elicitation result. Unknown ids are ignored. */
	void (*answer)(struct harness *h, uint64_t ask_id, struct slice result);
	int (*set_mode)(struct harness *h, uint64_t token, const char *mode, struct err *e);
	/* params: raw members configId, value, type as in session/set_config_option. */
	int (*set_config)(struct harness *h, uint64_t token, struct slice params, struct err *e);
	/* Optional: a last native message before stdin is closed. */
	void (*close)(struct harness *h);
	struct harness *(*free)(struct harness *h);
};
