/*
 * harness.h - the contract between the core and an adapter; all an adapter may know of the daemon.
 *
 * An adapter turns lines of its harness's native protocol into typed events and typed calls into native lines. It owns
 * no descriptor, no socket, no session, no process. One adapter object (struct harness) serves one session and one
 * child process. After the child's exit it is freed, and if the session goes on, a new one is opened with mode
 * HARNESS_RESTORE. To add a harness: one folder, one row in registry.c, one recorded transcript (harnesses/README.md).
 *
 * Order of calls: plan -> (the core spawns the child) -> open -> start -> on_line... ; prompt, cancel, answer,
 * set_mode and set_config only after the adapter has reported ready; one prompt at a time. Every prompt is answered
 * by exactly one turn_end, every call token by exactly one reply. If the child dies the core ends both itself, so an
 * adapter need not watch for it. on_line returns <0 with err filled on a protocol fault: the child is then stopped
 * and the turn fails. -EILSEQ: its text holds halves of surrogate pairs (json/jstr.h), and nothing came of it; the core
 * repairs it and gives it again. Spans given to callbacks are borrowed for the call only, in both directions; JSON spans have
 * been validated.
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "json/jscan.h"

/* What the harness can do, end to end. From its table row before a child exists, then as it reports itself. */
struct harness_caps {
	bool image, audio, embedded_context; /* promptCapabilities */
	bool images_alone; /* of all bytes it delivers PNG, JPEG, GIF and WebP images alone, as images */
	bool http, sse; /* mcpCapabilities */
	bool no_stdio;	/* takes no MCP server of type stdio */
	bool additional_dirs;
	bool restore;	      /* can take up an earlier session by its native id */
	bool steer;	      /* a running turn takes more input */
	bool system_append;   /* session/new systemPrompt, mode append */
	bool system_override; /* the same, mode override */
	bool responses_only;  /* of OpenAI's APIs it speaks openai-responses alone */
	bool inner_sandbox;   /* has one of its own, which makes namespaces: off unless asked for */
	unsigned tool_text; /* bytes of a tool's text that its model is shown whole; 0: as many as tools give */
};

/*
 * The places where the harness, as plan starts it, reads skills and instructions, each measured (harnesses/README.md).
 * Skills and instructions of a session go to its private home, so that they are in no workspace and need no trust.
 */
struct harness_places {
	const char *skills_dir; /* below the private home */
	const char *
		instructions_home; /* file below it, read besides the project's own; NULL: unknown */
	const char *instructions_file; /* the project's own, in cwd */
};

struct harness_ops;
struct acp_quirks;

struct harness_env {
	char *name, *value;
};

/* The refusal of a model call after which a harness asks no more (measured: harnesses/README.md). */
enum harness_stop {
	HARNESS_STOP_402,
	HARNESS_STOP_QUOTA, /* 429 insufficient_quota, x-should-retry: false */
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
	struct harness_places places;
	enum harness_stop stop;
	char *auth_methods;		 /* raw JSON array for initialize; NULL: none */
	const struct acp_quirks *quirks; /* how a stdio ACP agent differs (acp/quirks.h), or NULL */
	bool configured;		 /* added or changed by the manifest */
	bool own_command;		 /* the manifest says what is started */
};

/* Who makes the calls of a model. */
enum harness_via {
	PROVIDER_ENVIRONMENT, /* by the harness itself, with the key in its environment */
	/* The core puts its own address and key in the place of base_url and key: */
	PROVIDER_TUNNEL, /* by the client */
	PROVIDER_DIRECT, /* by the core */
	PROVIDER_VIA_MAX,
};

/* What calls that pass the daemon are held to. */
struct harness_limits {
	int64_t concurrency;	  /* calls open at a time */
	int64_t calls_per_minute; /* 0: any number */
};

/*
 * Where the model is and how to reach it, as the client gave it; each adapter translates it for its program.
 * The key goes into the child's environment and nowhere else. harnesses/provider.c
 */
struct harness_provider {
	char *api;	/* "openai-responses", "openai-chat", "anthropic", "google" */
	char *via_name; /* as the client says; NULL: it does not */
	enum harness_via via;
	char *base_url;	 /* NULL: the API's public one */
	char *given_key; /* as the text has it; wiped when it is freed */
	const char *key; /* borrowed; NULL: the harness gets none */
	char *model; /* the session's model, wherever it was named; NULL: the harness's default */
	struct slice models; /* raw array of strings: what else may be chosen; empty: model alone */
	char *small_model;   /* for side calls, such as titles; NULL: model */
	struct slice paths; /* raw array of strings: what else passes (model/model_api.h), or empty */
	struct slice headers;	 /* raw object of strings, or empty */
	struct slice auth;	 /* raw object, or empty */
	struct slice fallbacks;	 /* raw array of objects, or empty: PROVIDER_DIRECT */
	struct slice prices;	 /* raw object, or empty: what its models cost (prices.h) */
	struct slice limits_raw; /* raw object, or empty */
	struct harness_limits limits;
	int64_t idle_timeout_ms; /* silence after which a model call has failed; 0: the harness's own */
};

/* raw: the object as it stands in _meta.acpd.provider. Slices of ret borrow from raw; free with
 * harness_provider_done. */
int harness_provider_parse(struct slice raw, struct harness_provider *ret, struct err *e);
void harness_provider_done(struct harness_provider *p);
/* True if a harness that was started with one of them goes on with the other: of a provider whose calls pass the daemon it
 * knows neither key nor address nor headers. */
bool harness_provider_alike(const struct harness_provider *a, const struct harness_provider *b);
/* It is for the harness to see that its provider is not silent for too long: the core does that for its own calls. p may
 * be NULL. */
bool harness_keeps_silence(const struct harness_provider *p);
/* Every model that may be chosen, each once, the wanted one first; until fn returns false. */
void harness_provider_each_model(const struct harness_provider *p,
				 bool (*fn)(void *ctx, const char *model), void *ctx);

/* The first of them, which the caller frees; NULL: none is named. */
char *harness_provider_first(const struct harness_provider *p);
/* True if it may be chosen. */
bool harness_provider_offers(const struct harness_provider *p, const char *model);
/* False: nothing is known of how the harness is told of a provider. */
bool harness_takes_provider(const struct harness_def *def);
/* What to set for a harness that wants a login. harnesses/registry.c */
void harness_login_hint(const struct harness_def *def, char *ret, size_t size);
/* The i-th variable in which that harness would find a provider's key by itself; NULL: there are no more.
 * harnesses/registry.c */
const char *harness_key_variable(const struct harness_def *def, size_t i);

/* The harness's freedom to act without asking. Plan modes and the like are the harness's own (config option "mode"). */
enum harness_approval {
	APPROVAL_ASK,	       /* every command, edit and fetch is asked */
	APPROVAL_ACCEPT_EDITS, /* edits inside cwd and additional directories are not */
	APPROVAL_NEVER, /* nothing is asked, everything allowed: for sandboxes that are the boundary */
	APPROVAL_MAX,
};

/*
 * Rules of the session, which the core holds against each question, also against one that the approval would not have
 * asked: as long as there are some the harness has to ask about every call that they may speak of, or run none. What the
 * approval allows is said with the question (harness_ask.approved), not answered by the adapter.
 */
enum harness_rules {
	HARNESS_RULES =
		1, /* about commands, edits, fetches, tools of servers, all else that acts */
	HARNESS_RULES_READS = 2, /* and about what only reads or searches files */
};

/* Calls of a harness by what rules say of them. */
enum harness_call { CALL_READ, CALL_EDIT, CALL_EXECUTE, CALL_MCP, CALL_OTHER, CALL_MAX };

/* Whether it asks about them when there are rules. why: what it does not ask about, or why not; NULL: nothing to say. */
struct harness_asking {
	bool asked;
	const char *why;
};

enum harness_mode { HARNESS_NEW, HARNESS_RESTORE };

struct harness_req {
	enum harness_mode mode;
	const char *session_id; /* ours; a harness that lets its ids be chosen may use it */
	const char *native_id;	/* HARNESS_RESTORE: the id reported by ready */
	const char *cwd;
	const char *home;	  /* private directory of the session, for HOME and configuration */
	struct slice mcp_servers; /* raw JSON array of ACP McpServer */
	int64_t mcp_call_ms; /* how long the harness is to wait for a call of theirs; 0: as it likes */
	struct slice additional_dirs;		 /* raw JSON array */
	const struct harness_provider *provider; /* or NULL: the settings of environment and home */
	const char *
		model; /* wanted for the session, or NULL; the core checks that it is in force when ready */
	const char *system_prompt; /* or NULL; only given to a harness with the capability */
	bool system_override;	   /* it replaces the harness's own, else it is added */
	enum harness_approval approval;
	unsigned rules; /* enum harness_rules, as they are at the start; afterwards the host says */
	bool inner_sandbox; /* its own is to hold what the model does; only of a harness with the capability */
	bool inner_network; /* which lets through what the session's network lets through, else nothing */
	bool boolean_config;	 /* the client renders boolean config options */
	bool elicitation;	 /* the client answers form elicitations */
	const char *auth_method; /* chosen by authenticate, or NULL */
};

/* argv and environment for the child; filled by plan, owned by the core. */
struct harness_plan;
void harness_plan_arg(struct harness_plan *p, const char *arg);
/* The command of def and its arguments; other: the first one where it has none, or NULL. */
void harness_plan_command(struct harness_plan *p, const struct harness_def *def, const char *other);
/* A later value replaces an earlier one. */
void harness_plan_env(struct harness_plan *p, const char *name, const char *value);
/* A file (text NULL: a directory) below the private home, made before the first start and not again: from then on the
 * home belongs to the harness. path is relative; its directories are made too. */
void harness_plan_file(struct harness_plan *p, const char *path, const char *text);
/* The same for a file that the harness must load: the text is written anew at every start. */
void harness_plan_program(struct harness_plan *p, const char *path, const char *text);

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
	bool fits;	     /* as harness_update_check would say it, with this id */
	struct jval id;
};

/* Looks up and checks an update object: its kind, required members and their types. <0: not one we may send on. */
int harness_event_from_update(struct slice update, struct harness_event *ret, struct err *e);
/* What "sessionUpdate" says. <0: unknown. */
int harness_update_find(struct jval name, enum harness_update *ret);
const char *harness_update_name(enum harness_update kind);
/* Whether an update of that kind is a list (commands, plan, options) and longer than UPDATE_LIST_MAX. */
bool harness_update_is_beyond(enum harness_update kind, size_t size);
struct buf;
struct jw;
/* The update "plan" of what a harness lists: put writes the entry of each object in it, or nothing. False: it is
 * no list. */
bool harness_plan_update(struct jval list, void (*put)(struct jw *w, struct slice item),
			 struct buf *ret);
/* The kind alone, for adapters whose updates the core checks anyway. <0: unknown. */
int harness_event_kind(struct slice update, struct harness_event *ret);

/*
 * Clients must get what fits ACP's schema: they may drop a whole message for one wrong value. The core checks
 * what adapters pass to it; what does not fit is mended (parts are left out) into an empty buf, or refused.
 * harnesses/shapes.c
 */
enum harness_check { CHECK_FITS, CHECK_MENDED, CHECK_REFUSED };

/* id (may be NULL): the value of toolCallId or messageId; J_NONE: there is none. It borrows from what fits. */
enum harness_check harness_update_check(enum harness_update kind, struct slice update,
					struct buf *mended, struct jval *id);
/* For a jslot whose ctx is a struct harness_event: reads an update that fits in the pass that finds it, and sets kind, fits
 * and id. What begins otherwise than with its sessionUpdate, or does not fit, is read as any value, and checked later. */
bool harness_update_take(struct jwalk *w, void *ret_event);
/* {toolCall, options} of a permission request. */
enum harness_check harness_ask_check(struct slice params, struct buf *mended);
/* A SessionModeState; an array of config options. */
enum harness_check harness_modes_check(struct slice state, struct buf *mended);
enum harness_check harness_options_check(struct slice list, struct buf *mended);

struct harness_ready {
	const char *native_id;
	const char *version; /* of the program, as it reports itself; NULL: unknown */
	struct harness_caps caps;
	struct slice modes;	     /* raw SessionModeState or empty */
	struct slice config_options; /* raw array or empty */
	bool restored; /* HARNESS_RESTORE: the harness has really restored its context */
};

/* A question the client must answer: a permission request or an elicitation. */
struct harness_ask {
	uint64_t id; /* chosen by the adapter, unique among its open ones */
	bool elicitation;
	bool approved; /* the session's approval allows it: only a rule can want it asked or refused */
	bool wide;     /* it asks for more than its tool call shows */
	struct slice params; /* raw params without sessionId */
};

/* Why a turn failed; the classes are a closed list (daemon/protocol/errors.md). */
struct turn_error {
	const char *cls;
	const char *
		reason; /* of the error that the client gets; NULL: TURN_FAILED. Not for adapters */
	const char *provider; /* NULL: unknown */
	int http_status;      /* 0: unknown */
	bool retryable;
	bool same_key;			  /* the prompt may be sent again with its key */
	uint64_t peak_bytes, limit_bytes; /* of memory, if that was why; 0: not known */
	char message[256];
};

struct harness_turn_end {
	bool failed;
	const char *stop_reason; /* ACP StopReason if not failed */
	bool quiet; /* a command of the harness's own without output: else a success without any output is none */
	struct turn_error error;
};

/*
 * Tokens and cost as the harness reported them, brought to one meaning: INPUT includes what was read from or written
 * to a cache, OUTPUT includes REASONING, TOTAL is the harness's own word. What was not reported is absent (its bit in
 * has is 0), never 0.
 */
enum harness_count {
	COUNT_INPUT,
	COUNT_OUTPUT,
	COUNT_CACHE_READ,
	COUNT_CACHE_WRITE,
	COUNT_REASONING,
	COUNT_TOTAL,
	COUNT_CACHE_WRITE_5M, /* parts of CACHE_WRITE, by how long it is kept */
	COUNT_CACHE_WRITE_1H,
	COUNT_MAX,
};

#define COST_UNIT                                                                                  \
	1000000000000LL /* costs are integers of 10^-12 of the currency: sums stay exact */

struct harness_usage {
	bool whole_turn; /* false: one model call, to be added up; true: the turn's own sum, in place of what was added up */
	unsigned has; /* bit per enum harness_count */
	uint64_t count[COUNT_MAX];
	bool has_cost;
	int64_t cost;						    /* in 1/COST_UNIT */
	const char *currency;					    /* NULL: USD */
	const char *cost_source;				    /* static; NULL: the harness */
	const char *model, *provider, *response_id, *finish_reason; /* as used, each may be NULL */
	const char *
		source; /* where in the native protocol the numbers stood, e.g. "turn_end.message.usage"; static */
};

/* A JSON number of currency units as a cost; false if it is none or out of range. harnesses/usage_costs.c */
bool harness_cost_parse(struct slice number, int64_t *ret);
/* Sets a count from a JSON value; anything but an integer from 0 to 2^53 leaves it absent. */
void harness_usage_set(struct harness_usage *u, enum harness_count what, struct jval v);

struct harness_host_ops {
	/* One line to the child's stdin; 0 or -errno. */
	int (*send)(void *ctx, struct slice line);
	void (*ready)(void *ctx, const struct harness_ready *r);
	/* The session could not be opened; e->rpc is the code for session/new. The child is stopped. */
	void (*failed)(void *ctx, const struct err *e);
	void (*event)(void *ctx, const struct harness_event *ev);
	/* An update whose kind is not in enum harness_update; raw object. */
	void (*unknown)(void *ctx, struct slice update);
	void (*ask)(void *ctx, const struct harness_ask *ask);
	void (*unask)(void *ctx, uint64_t ask_id);
	/* As often as the harness reports it; before the turn_end it belongs to. */
	void (*usage)(void *ctx, const struct harness_usage *u);
	void (*turn_end)(void *ctx, const struct harness_turn_end *end);
	/* Answer to set_mode/set_config: err NULL on success; result may hold configOptions. */
	void (*reply)(void *ctx, uint64_t token, struct slice result, const struct err *e);
	/* The rules of now: enum harness_rules. */
	unsigned (*rules)(void *ctx);
	/* Calls on_timer once after so many ms; a later call replaces an earlier one, 0 cancels. */
	void (*timer)(void *ctx, unsigned ms);
};

struct harness_host {
	const struct harness_host_ops *ops;
	void *ctx;
};

struct harness; /* private to the adapter */

#define HARNESS_NOT_A_MESSAGE 1

struct harness_ops {
	const char *name;
	/* Optional: an array by enum harness_call. Without it nothing is known of what it asks about. */
	const struct harness_asking *(*asks)(const struct harness_def *def,
					     enum harness_approval approval, bool inner_sandbox);
	/* argv[0..] and environment; the base environment, HOME and the markers are the core's. */
	int (*plan)(const struct harness_def *def, const struct harness_req *req,
		    struct harness_plan *plan, struct err *e);
	struct harness *(*open)(const struct harness_def *def, const struct harness_req *req,
				const struct harness_host *host);
	/* The child runs: send what opens the session. */
	int (*start)(struct harness *h, struct err *e);
	/* HARNESS_NOT_A_MESSAGE: the line is none, and nothing came of it; the core looks whether it holds one. */
	int (*on_line)(struct harness *h, struct slice line, struct err *e);
	/* Optional, before each prompt: how many tool calls its turn may make; -1: any number. Those
	 * beyond must not run: the core cancels the turn when one is announced, which may be too late. */
	void (*limit)(struct harness *h, int64_t tool_calls);
	/* What limit allows is all that the harness makes, whatever the core does: calls within it may end then. */
	bool limit_holds;
	/* Its usage comes for each model call: they can be counted though none passes the daemon. */
	bool reports_calls;
	/* content: raw array of ContentBlock; meta: raw params._meta or empty. <0 with RPC_INVALID_PARAMS: the content cannot
	 * be put into the protocol (talk.h); else the harness takes no input. */
	int (*prompt)(struct harness *h, struct slice content, struct slice meta, struct err *e);
	void (*cancel)(struct harness *h);
	/* result: raw RequestPermissionResponse or elicitation result. Unknown ids are ignored. */
	void (*answer)(struct harness *h, uint64_t ask_id, struct slice result);
	/* Optional: without it (or without modes) the core sets the config option of category "mode". */
	int (*set_mode)(struct harness *h, uint64_t token, const char *mode, struct err *e);
	/* params: raw members configId, value, type as in session/set_config_option. */
	/* The reply's result holds all configOptions. Models, reasoning effort and modes are options of category
	 * "model", "thought_level" and "mode". */
	int (*set_config)(struct harness *h, uint64_t token, struct slice params, struct err *e);
	/* Optional (caps.steer): more input for the running turn. result of the reply:
	 * {"outcome":"injected"|"failed"}. */
	int (*steer)(struct harness *h, uint64_t token, struct slice content, struct err *e);
	void (*on_timer)(struct harness *h); /* optional */
	/* Optional: a last native message before stdin is closed. */
	void (*close)(struct harness *h);
	struct harness *(*free)(struct harness *h);
};

/* The adapters, each in its folder: the generic one for stdio ACP agents, and those of programs that have a protocol of their
 * own or only start differently. */
extern const struct harness_ops harness_acp, harness_codex, harness_opencode, harness_pi;
