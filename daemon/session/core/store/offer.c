#include "session/core/store/offer.h"

#include "base/limits.h"
#include "proc/netns.h"
#include "json/jenc.h"

void offer_put_features(struct jw *w)
{
	static const char *const features[] = {
		"seq",		"gap",	     "detached", "turnEnd", "promptKey",    "whenBusy",
		"whenDetached", "env",	     "provider", "status",  "model",	    "mode",
		"policy",	"budgets",   "usage",	 "fork",    "events",	    "archives",
		"workspace",	"skills",    "secrets",	 "envKeep", "instructions", "harnessFiles",
		"diff",		"artifacts", "mcp",	 "ack",	    "tunnel",	    "promptBudgets",
		"checks",	"approvals", "retry",	 "tokens",  "observe"
	};

	jw_obj(w, "features");
	for (size_t i = 0; i < ARRAY_SIZE(features); i++)
		jw_bool(w, features[i], true);
	if (!netns_missing())
		jw_bool(w, "network", true);
	jw_end_obj(w);
}

void offer_put_limits(struct jw *w, const struct session_store *st, uint64_t backlog)
{
	struct store_life life;

	store_life(st, &life);
	jw_object(w, "limits", JW_UINT("messageBytes", MESSAGE_MAX), JW_UINT("idChars", RPC_ID_MAX),
		  JW_UINT("backlogBytes", backlog), JW_UINT("queuedPrompts", SESSION_QUEUE_MAX),
		  JW_UINT("sessions", life.session_max), JW_UINT("harnesses", life.harness_max),
		  JW_UINT("harnessIdleSeconds", life.harness_idle));
}
