/* internal.h - what the adapter's files share with each other and with the hooks of programs that speak ACP (acp.h). */
#pragma once

#include "base/list.h"
#include "harnesses/acp/acp.h"
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
