/*
 * setup.h - what a session's harness is started with: the parameters of session/new, changed by load and resume. Owned
 * by the session; everything but secrets (provider key and headers, env) is written into the journal, so that a
 * restarted daemon can start the harness again once the client has given those anew.
 */
#pragma once

#include "confine/confinement.h"
#include "harnesses/provider.h"
#include "json/jenc.h"
#include "session/core/harness/session_labels.h"
#include "session/core/session_parameter.h"

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

/* What happens while no client is connected. */
enum when_detached { DETACHED_CONTINUE, DETACHED_HOLD, DETACHED_CANCEL };

/* A parameter that a call gives. */
struct parameter_given {
	const struct session_parameter *of;
	const char *field; /* where it stood; NULL: _meta.acpd.NAME */
	struct jval v;	   /* J_NONE: not given; JF_T_STR: raw is the string itself, with NUL */
	char *text;	   /* of JF_T_STR; owned by the decoder */
};

#define PARAMETERS_GIVEN_MAX 64

/* As it comes from the protocol side; strings and slices are borrowed. Absent parameters leave what was set before. */
struct setup_params {
	struct slice mcp_servers, additional_dirs; /* raw arrays; always replaced, empty: none */
	bool provider_follows; /* provider is that of the connection, not the session's own */
	const char *auth_method;
	struct parameter_given given[PARAMETERS_GIVEN_MAX];
	size_t ngiven;
};

/* The value of a parameter: its text, and the typed value if the row has one. */
struct parameter_value {
	const struct session_parameter *of;
	char *text; /* NULL: absent */
	void *value;
};

struct setup {
	struct parameter_value *values; /* of the parameters that parts own */
	size_t nvalues;
	char *mcp_servers, *additional_dirs, *env, *provider; /* raw; provider: without its keys */
	struct provider_keys keys;
	char *secrets;		     /* raw object: environment that the client marks as secret */
	char *env_keep, *env_needed; /* raw arrays of names (session_env.h) */
	char *source;		     /* raw object: the archive that its workspace was made of */
	char *chosen; /* raw object configId: value, what a client chose besides model and mode; NULL: nothing */
	char *auth_method, *model, *mode, *system_prompt, *labels[LABEL_MAX];
	char *sure_model, *sure_mode; /* the last that were in force */
	bool system_override;
	bool provider_follows; /* provider is that of the connection which drives the session */
	enum harness_approval approval;
	struct harness_provider gateway; /* provider, parsed; borrows from it */
	bool ephemeral, remove_on_close; /* cwd was made for this session */
	bool baseline;			 /* changes in the workspace are recorded */
	bool needs_provider; /* one was given in an earlier life, and its key was not written down */
};

/* Bits of a change. What takes effect when the harness process is started anew has a bit for each parameter, in the order
 * in which clients are told of those that wait; 31 is the last. */
#define SETUP_RESTARTS(n) (1u << (n))

enum setup_change {
	SETUP_CHANGED = 1, /* the journal's record is no longer true */
	SETUP_SERVERS = SETUP_RESTARTS(1),
	/* 2 and 3: mcp, policy */
	SETUP_DIRS = SETUP_RESTARTS(4),
	SETUP_ENV = SETUP_RESTARTS(5),
	SETUP_PROVIDER = SETUP_RESTARTS(6),
	SETUP_MODEL = SETUP_RESTARTS(7),
	SETUP_PROMPT = SETUP_RESTARTS(8),
	/* 9 and 10: network, level */
	SETUP_INNER = SETUP_RESTARTS(11),
	SETUP_MODE = SETUP_RESTARTS(12), /* but this is set in the running harness */
};
#define SETUP_RESTART (~(SETUP_CHANGED | (unsigned)SETUP_MODE))

extern const struct session_parameter env_parameter, secrets_parameter, env_keep_parameter,
	provider_parameter, model_parameter, mode_parameter, system_prompt_parameter,
	inner_sandbox_parameter, when_detached_parameter;

/* --- what a call gives --- */

/* NULL: it does not give the parameter. */
const struct parameter_given *setup_given(const struct setup_params *p,
					  const struct session_parameter *of);
/* The text of the value, with NUL if it is of JF_T_STR; empty: it is not given. */
struct slice setup_given_text(const struct setup_params *p, const struct session_parameter *of);
/* The typed value; false, and *ret stays: it is not given. */
bool setup_given_value(const struct setup_params *p, const struct session_parameter *of, void *ret);
/* Gives another one. v borrows. */
struct parameter_given *setup_give(struct setup_params *p, const struct session_parameter *of,
				   struct jval v);
/* Checks what p gives, without regard to a session. c: all but the field. */
int parameter_check(const struct session_parameter *of, const struct parameter_check *c,
		    struct err *e);
enum when_detached setup_when_detached(const struct setup_params *p);

/* --- what a session has --- */

/* The text of a parameter; NULL: absent. */
const char *setup_text(const struct setup *s, const struct session_parameter *of);
/* The typed value; all zeros where it is absent. */
const void *setup_value(const struct setup *s, const struct session_parameter *of);
/* Sets one parameter, which has been checked; returns enum setup_change bits. */
unsigned setup_change(struct setup *s, const struct session_parameter *of, struct jval v);
/* Two texts mean the same: "[]" is as good as absent, which must not restart the harness. */
bool setup_same(const char *a, const char *b);
/* Applies all that p gives; returns enum setup_change bits. */
unsigned setup_apply(struct setup *s, const struct setup_params *p);
/* Another provider; empty: the same. SETUP_PROVIDER only where the harness has to be told of it, and so is started anew. */
unsigned setup_change_provider(struct setup *s, struct slice provider, bool follows);
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
enum inner_choice setup_inner(const struct setup *s);
/* With this setup the harness makes namespaces of its own. */
bool harness_nests(const struct harness_def *def, const struct setup *s);
void setup_done(struct setup *s);
/* _meta.acpd.provider, as a client may give it that makes the model calls of these APIs; empty: there is none. */
int provider_check(struct slice raw, unsigned apis, struct err *e);
/* gateway anew from provider, keys and model, which have been checked before; it borrows from them. */
void setup_parse_gateway(struct setup *s);
/* What would be left of it after a restart of the daemon: keys and secret values are wiped, and are needed again. */
void setup_forget_keys(struct setup *s);
/* The steps of setup_apply, setup_inherit, setup_copy and setup_done that go by the rows. */
unsigned setup_apply_given(struct setup *s, const struct setup_params *p);
void setup_inherit_values(struct setup *s, const struct setup *from);
void setup_copy_values(struct setup *s, const struct setup *from);
void setup_free_values(struct setup *s);
/* Wipes a text, which may hold a secret, and frees it; NULL is fine. */
void setup_free_text(char *text);
/* Members of the journal's "session" record. */
void setup_put(const struct setup *s, struct jw *w);
/* From such a record; what is malformed counts as absent. */
void setup_load(struct setup *s, struct slice record);
