/*
 * internal.h - the generic stdio ACP adapter: any agent that speaks ACP v1 as JSON lines.
 *
 * What its files share with each other, and with programs that speak ACP and only start differently (opencode/).
 */
#pragma once

#include "base/list.h"
#include "harnesses/acp/quirks.h"
#include "json/jenc.h"
#include "rpc/rpc.h"

#define ACP_NO_COMMAND "\\u200b" /* as JSON; the plugin of OpenCode knows it too */

enum phase { PHASE_INITIALIZE, PHASE_AUTHENTICATE, PHASE_OPEN, PHASE_READY, PHASE_FAILED };

/* A request of the agent that waits for the client. */
struct agent_ask {
	struct list link;
	uint64_t id;
	char *rpc_id; /* raw */
};

/* Running totals of an agent whose numbers only grow. */
struct acp_meter {
	struct harness_usage seen; /* counts of the last reply */
	int64_t cost, cost_before; /* of the session, now and when the turn began */
	bool has_cost, known;	   /* known: cost_before is */
	char currency[8];
};

struct harness {
	struct harness_host host;
	const struct acp_quirks *quirks;
	void *hook_state;
	struct harness_caps caps;
	enum phase phase;
	enum harness_mode mode;
	enum harness_approval approval;
	bool can_resume, can_load, replaying, elicitation, boolean_config, system_override;
	bool restoring, with_provider;
	char *cwd, *native_id, *auth_method, *version, *system_prompt, *model;
	char *mcp_servers, *additional_dirs; /* raw */
	char *options, *modes, *models, *chosen,
		*wanted; /* raw, as the agent last reported them; chosen, wanted: of legacy models */
	struct rpc_calls calls;
	struct list asks;
	uint64_t last_ask;
	struct acp_meter meter;
	struct buf held; /* an update whose text may be an error */
};

/* acp.c: one call on the session. */
#define acp_call(h, method, fn, tag, ...) acp_call_of(h, method, JW_MEMBERS(__VA_ARGS__), fn, tag)
int acp_call_of(struct harness *h, const char *method, const struct jw_member *members,
		rpc_reply_fn fn, uint64_t tag);
struct harness *acp_open_with(const struct acp_quirks *q, const struct harness_req *req,
			      const struct harness_host *host);
/* render.c */
int acp_plan(const struct harness_def *def, const struct harness_req *req,
	     struct harness_plan *plan, struct err *e);
/* asks.c */
unsigned acp_rules(const struct harness *h); /* enum harness_rules */
void acp_on_request(struct harness *h, const struct rpc_msg *m);
void acp_on_cancel_request(struct harness *h, struct slice params);
void acp_asks_free(struct harness *h);
/* settings.c: a call whose answer is the core's. */
int acp_call_for(struct harness *h, const char *method, const struct jw_member *members,
		 uint64_t token, struct err *e);
/* settings.c: what follows the answer to session/new: approval mode, then ready. */
void acp_opened(struct harness *h, struct slice result);
/* options.c: config options as the core wants them, from the agent's last report. */
void acp_options_note(struct harness *h, struct slice result);
void acp_options_rewrite(struct harness *h, struct harness_event *ev, struct buf *scratch);
/* True if the list differs from the agent's own. */
bool acp_options_are_ours(const struct harness *h);
void acp_options_put(const struct harness *h, struct buf *b);
/* The prefix of model values on the agent's side; NULL: none. */
const char *acp_model_prefix(const struct harness *h);
/* Whether the model is chosen by session/set_model. */
bool acp_model_is_legacy(const struct harness *h);
/* The option that names the model, under any name. */
bool acp_is_model_option(const struct harness *h, struct jval config_id);
/* text.c: agent text that is an error or a notice. False: the event has been handled. */
bool acp_text_filter(struct harness *h, struct harness_event *ev, struct buf *scratch);
/* A command that ended with a code other than 0 has failed. */
void acp_exit_code(const struct harness *h, struct harness_event *ev, struct buf *scratch);
/* Member "prompt" after a character without width, so that no text is a command. */
void acp_put_as_text(struct jw *w, struct slice content);
/* At the turn's end: what was held back is an error, or is sent now. */
void acp_text_end(struct harness *h, const struct rpc_msg *reply, struct harness_turn_end *end);
/* meter.c */
void acp_meter_note(struct harness *h, struct slice usage_update);
void acp_meter_turn_start(struct harness *h);
void acp_meter_report(struct harness *h, const struct rpc_msg *reply, bool counted);
/* turn.c: reads an agent's answers: the end of a turn, an error's class, whether a permission request is valid. */
void acp_turn_end_from_reply(const struct rpc_msg *reply, struct harness_turn_end *ret);
/* An error that an agent reported as text; fills what the reply did not have, and makes the turn failed. */
void acp_error_from_text(const char *text, struct harness_turn_end *end);
/* error: raw JSON-RPC error object. */
void acp_error_classify(struct slice error, struct turn_error *ret);
/* The code to pass on: the agent's own for bad parameters, else internal error. */
int acp_error_code(struct slice error);
/* A toolCall with toolCallId, and at least one option, each with a unique optionId, name and kind. */
int acp_permission_check(struct slice params);

/* The functions of the adapter, for its own table and for those of such programs. */
const struct harness_asking *harness_acp_asks(const struct harness_def *def,
					      enum harness_approval approval, bool inner_sandbox);
int harness_acp_plan(const struct harness_def *def, const struct harness_req *req,
		     struct harness_plan *plan, struct err *e);
struct harness *harness_acp_open(const struct harness_def *def, const struct harness_req *req,
				 const struct harness_host *host);
int harness_acp_start(struct harness *h, struct err *e);
int harness_acp_on_line(struct harness *h, struct slice line, struct err *e);
int harness_acp_prompt(struct harness *h, struct slice content, struct slice meta, struct err *e);
void harness_acp_cancel(struct harness *h);
void harness_acp_answer(struct harness *h, uint64_t ask_id, struct slice result);
int harness_acp_set_mode(struct harness *h, uint64_t token, const char *mode, struct err *e);
int harness_acp_set_config(struct harness *h, uint64_t token, struct slice params, struct err *e);
int harness_acp_steer(struct harness *h, uint64_t token, struct slice content, struct err *e);
struct harness *harness_acp_free(struct harness *h);

/* For the tables of adapters whose program speaks ACP and only starts differently. */
#define HARNESS_ACP_PROTOCOL                                                                       \
	.start = harness_acp_start, .on_line = harness_acp_on_line, .prompt = harness_acp_prompt,  \
	.cancel = harness_acp_cancel, .answer = harness_acp_answer,                                \
	.set_mode = harness_acp_set_mode, .set_config = harness_acp_set_config,                    \
	.steer = harness_acp_steer, .free = harness_acp_free
