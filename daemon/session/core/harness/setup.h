/*
 * setup.h - what a session's harness is started with: the parameters of session/new, changed by load and resume. Owned
 * by the session; everything but secrets (provider key and headers, env) is written into the journal, so that a
 * restarted daemon can start the harness again once the client has given those anew.
 */
#pragma once

#include "confine/confinement.h"
#include "egress/wire/egress_rules.h"
#include "harnesses/provider.h"
#include "json/jenc.h"
#include "proc/cgroup/group_limits.h"
#include "session/parts/approval/approval_terms.h"
#include "session/parts/draft/draft_terms.h"
#include "session/core/harness/session_labels.h"
#include "usage/budget.h"

/* How far it is to be confined. */
struct level_wish {
	enum confine_level level;
	bool named;    /* else nobody said, and the rest says nothing */
	bool at_least; /* less is refused */
	bool log;      /* what is refused becomes an event */
};

/* What the operator says: --level, --level-min. */
struct level_policy {
	struct level_wish wish; /* of sessions whose client names none */
	enum confine_level min;
};

/* A harness's own sandbox, besides the level. */
enum inner_choice { INNER_UNSAID, INNER_OFF, INNER_ON };

enum approval_choice { APPROVAL_UNCHANGED = -1 };

/* As it comes from the protocol side; strings and slices are borrowed. Absent members leave what was set before. */
struct setup_params {
	struct slice mcp_servers, additional_dirs; /* raw arrays; always replaced, empty: none */
	struct slice env;			   /* raw object of strings, checked */
	struct slice secrets;	  /* the same: its values are hidden wherever text goes out */
	struct slice env_keep;	  /* raw array of names, checked */
	struct slice provider;	  /* raw object, checked; with its keys */
	bool provider_follows;	  /* it is that of the connection, not the session's own */
	struct slice mcp, policy; /* raw objects, checked */
	struct slice checks;	  /* raw array, checked; "[]": none */
	struct slice retry;	  /* raw {max}, checked */
	const char *auth_method;
	char *model;
	char *mode; /* id of a mode to start in */
	const char *system_prompt;
	bool system_override;
	int approval;	      /* enum harness_approval or APPROVAL_UNCHANGED */
	struct slice network; /* raw object, checked: egress_rules.h */
	const struct level_wish *level;
	struct group_limits limits; /* 0: unchanged */
	enum inner_choice inner;    /* INNER_UNSAID: unchanged */
	const struct budgets *budgets;
	const struct approval_terms *approvals;
	const struct draft_terms *draft_after;
	char *labels[LABEL_MAX];
};

struct setup {
	char *mcp_servers, *additional_dirs, *env, *provider; /* raw; provider: without its keys */
	struct provider_keys keys;
	char *secrets;		     /* raw object: environment that the client marks as secret */
	char *env_keep, *env_needed; /* raw arrays of names (session_env.h) */
	char *mcp, *policy;	     /* raw objects: _meta.acpd.mcp, .policy */
	char *checks;		     /* raw array: session/parts/check/check.h */
	char *retry;		     /* raw {max}: session/parts/check/turn_proof.h */
	char *source;		     /* raw object: the archive that its workspace was made of */
	char *chosen; /* raw object configId: value, what a client chose besides model and mode; NULL: nothing */
	char *auth_method, *model, *mode, *system_prompt, *labels[LABEL_MAX];
	char *sure_model, *sure_mode; /* the last that were in force */
	bool system_override;
	bool provider_follows; /* provider is that of the connection which drives the session */
	enum harness_approval approval;
	struct egress_rules *network; /* NULL: nobody said */
	struct level_wish level;
	struct group_limits limits; /* 0: nobody said; takes effect at once (session_limits.h) */
	enum inner_choice inner;
	struct budgets budgets;
	struct draft_terms draft_after;	 /* when a draft begins by itself */
	struct approval_terms approvals; /* of questions that are asked from now on */
	struct harness_provider gateway; /* provider, parsed; borrows from it */
	bool ephemeral, remove_on_close; /* cwd was made for this session */
	bool baseline;			 /* changes in the workspace are recorded */
	bool needs_provider; /* one was given in an earlier life, and its key was not written down */
};

enum setup_change {
	SETUP_CHANGED = 1, /* the journal's record is no longer true */
	/* What takes effect when the harness process is started anew, by parameter. */
	SETUP_SERVERS = 2,
	SETUP_MCP = 4,
	SETUP_POLICY = 8,
	SETUP_DIRS = 16,
	SETUP_ENV = 32,
	SETUP_PROVIDER = 64,
	SETUP_MODEL = 128,
	SETUP_PROMPT = 256,
	SETUP_NETWORK = 512,
	SETUP_LEVEL = 1024,
	SETUP_INNER = 2048,
	SETUP_RESTART = 4094, /* all of them */
	SETUP_MODE = 4096,    /* and what is set in the running one */
};

/* Returns enum setup_change bits. */
unsigned setup_apply(struct setup *s, const struct setup_params *p);
/* Another provider; empty: the same. SETUP_PROVIDER only where the harness has to be told of it, and so is started anew. */
unsigned setup_change_provider(struct setup *s, struct slice provider, bool follows);
/* Other rules for where it may go; not SETUP_RESTART where the harness need not be told. Empty: the same. */
unsigned setup_change_network(struct setup *s, struct slice network);
/* The parameters of these bits, by the names that clients know: elements of an array. */
void setup_put_names(unsigned changes, struct jw *w);
/* A copy, to go back to: setup_restore moves it back and frees it. Both take NULL. */
struct setup *setup_copy(const struct setup *s);
void setup_restore(struct setup *s, struct setup *copy);
struct setup *setup_free(struct setup *copy);
/* What was not given to a fork is as it was for the original. */
void setup_inherit(struct setup *s, const struct setup *from);
/* A client has chosen a value of an option: it is chosen again whenever the harness starts anew. value: raw. */
void setup_choose(struct setup *s, struct slice category, struct slice id, struct slice value);
/* Model and mode are in force. */
void setup_keep_choice(struct setup *s);
/* They cannot be had: back to those that last were in force, else to what the harness begins with. */
void setup_forget_choice(struct setup *s);
/* serverId (raw string) of the MCP server of type "acp" with that name; empty: there is none. */
struct slice setup_server_id(const struct setup *s, const char *name);
/* With this setup the harness makes namespaces of its own. */
bool harness_nests(const struct harness_def *def, const struct setup *s);
void setup_done(struct setup *s);
/* gateway anew from provider, keys and model, which have been checked before; it borrows from them. */
void setup_parse_gateway(struct setup *s);
/* What would be left of it after a restart of the daemon: keys and secret values are wiped, and are needed again. */
void setup_forget_keys(struct setup *s);
/* Members of the journal's "session" record. */
void setup_put(const struct setup *s, struct jw *w);
/* From such a record; what is malformed counts as absent. */
void setup_load(struct setup *s, struct slice record);
