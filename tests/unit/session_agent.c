/* session_agent.c - the harness of the rig: an adapter that does what each line says. */
#include "session_rig.h"

#include "harnesses/spawn_plan.h"

#define CHUNK                                                                                      \
	"{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"x\"}}"
#define QUESTION                                                                                   \
	"{\"toolCall\":{\"toolCallId\":\"c1\",\"title\":\"t\"},\"options\":["                      \
	"{\"optionId\":\"yes\",\"name\":\"Yes\",\"kind\":\"allow_once\"},"                         \
	"{\"optionId\":\"no\",\"name\":\"No\",\"kind\":\"reject_once\"}]}"
#define ELICITATION                                                                                \
	"{\"mode\":\"form\",\"message\":\"m\",\"requestedSchema\":{\"type\":\"object\"}}"

static int fake_plan(const struct harness_def *def, const struct harness_req *req _unused_,
		     struct harness_plan *plan, struct err *e _unused_)
{
	harness_plan_arg(plan, def->command);
	return 0;
}

static struct harness *fake_new(const struct harness_def *def _unused_,
				const struct harness_req *req, const struct harness_host *host)
{
	rig_at_hand()->host = *host;
	rig_at_hand()->restore = req->mode == HARNESS_RESTORE;
	rig_at_hand()->ready = rig_at_hand()->prompted = rig_at_hand()->cancelled = false;
	rig_at_hand()->asks = 0;
	return (struct harness *)xstrdup("adapter");
}

static int fake_start(struct harness *h _unused_, struct err *e _unused_)
{
	return 0;
}

static void say_ready(void)
{
	struct harness_ready ready = { .native_id = "n1",
				       .caps = { .restore = true },
				       .restored = rig_at_hand()->restore };

	rig_at_hand()->ready = true;
	rig_at_hand()->host.ops->ready(rig_at_hand()->host.ctx, &ready);
}

static void say_refuse(void)
{
	struct err e;

	err_set(&e, -EPERM, RPC_INTERNAL_ERROR, "NOT_TODAY", "the harness does not open");
	rig_at_hand()->host.ops->failed(rig_at_hand()->host.ctx, &e);
}

static void say_output(void)
{
	rig_at_hand()->host.ops->event(rig_at_hand()->host.ctx,
				       &(struct harness_event){ .kind = UPDATE_AGENT_CHUNK,
								.update = SLICE(CHUNK) });
}

static void ask(bool elicitation)
{
	struct harness_ask a = { .id = ++rig_at_hand()->last_ask,
				 .elicitation = elicitation,
				 .params = slice_of(elicitation ? ELICITATION : QUESTION) };

	rig_at_hand()->asks |= 1u << a.id % 32;
	rig_at_hand()->host.ops->ask(rig_at_hand()->host.ctx, &a);
}

static void say_ask(void)
{
	ask(false);
}

static void say_elicit(void)
{
	ask(true);
}

static void say_unask(void)
{
	rig_at_hand()->asks &= ~(1u << rig_at_hand()->last_ask % 32);
	rig_at_hand()->host.ops->unask(rig_at_hand()->host.ctx, rig_at_hand()->last_ask);
}

static void say_end(void)
{
	rig_at_hand()->prompted = false;
	rig_at_hand()->host.ops->turn_end(rig_at_hand()->host.ctx,
					  &(struct harness_turn_end){ .stop_reason = "end_turn" });
}

static void say_fail(void)
{
	rig_at_hand()->prompted = false;
	rig_at_hand()->host.ops->turn_end(
		rig_at_hand()->host.ctx,
		&(struct harness_turn_end){ .failed = true,
					    .error = { .cls = "provider", .message = "no" } });
}

static void say_tokens(void)
{
	rig_at_hand()->host.ops->usage(rig_at_hand()->host.ctx,
				       &(struct harness_usage){ .has = 1u << COUNT_TOTAL |
								       1u << COUNT_INPUT,
								.count = { 1000, 0, 0, 0, 0, 1000 },
								.source = "rig" });
}

enum { NEEDS_OPENING = 1, NEEDS_READY = 2, NEEDS_PROMPT = 4, NEEDS_ASK = 8 };

static const struct {
	const char *name;
	void (*fn)(void);
	unsigned needs;
} sayings[] = {
	{ "ready", say_ready, NEEDS_OPENING },	{ "refuse", say_refuse, NEEDS_OPENING },
	{ "output", say_output, NEEDS_READY },	{ "ask", say_ask, NEEDS_PROMPT },
	{ "elicit", say_elicit, NEEDS_PROMPT }, { "unask", say_unask, NEEDS_ASK },
	{ "end", say_end, NEEDS_PROMPT },	{ "fail", say_fail, NEEDS_PROMPT },
	{ "tokens", say_tokens, NEEDS_PROMPT }, { "nonsense", NULL, 0 },
};

static int fake_line(struct harness *h _unused_, struct slice line, struct err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(sayings); i++)
		if (sayings[i].fn && slice_is(line, sayings[i].name)) {
			sayings[i].fn();
			return 0;
		}
	return err_set(e, -EPROTO, RPC_INTERNAL_ERROR, "NONSENSE", "that is no line");
}

static int fake_prompt(struct harness *h _unused_, struct slice content _unused_,
		       struct slice meta _unused_, struct err *e)
{
	if (!rig_at_hand()->ready || rig_at_hand()->prompted)
		rig_fault(rig_at_hand(), "the harness is given a prompt that it cannot take");
	if (rig_at_hand()->refuses)
		return rig_at_hand()->refuses(e);
	rig_at_hand()->prompted = true;
	rig_at_hand()->cancelled = false;
	rig_at_hand()->prompts_seen++;
	return 0;
}

static void fake_cancel(struct harness *h _unused_)
{
	rig_at_hand()->cancelled = true;
}

static void fake_answer(struct harness *h _unused_, uint64_t id, struct slice result)
{
	if (!(rig_at_hand()->asks & 1u << id % 32))
		rig_fault(rig_at_hand(), "the harness is answered what it does not ask");
	rig_at_hand()->asks &= ~(1u << id % 32);
	snprintf(rig_at_hand()->answer, sizeof(rig_at_hand()->answer), "%.*s", (int)result.n,
		 result.p);
}

static int fake_set(struct harness *h _unused_, uint64_t token _unused_,
		    struct slice params _unused_, struct err *e)
{
	return err_set(e, -ENOSYS, RPC_INVALID_PARAMS, "NO_OPTIONS", "there are none");
}

static struct harness *fake_free(struct harness *h)
{
	rig_at_hand()->asks = 0;
	rig_at_hand()->ready = rig_at_hand()->prompted = false;
	free(h);
	return NULL;
}

const struct harness_ops rig_agent_ops = { .name = "fake",
					   .plan = fake_plan,
					   .open = fake_new,
					   .start = fake_start,
					   .on_line = fake_line,
					   .prompt = fake_prompt,
					   .cancel = fake_cancel,
					   .answer = fake_answer,
					   .set_config = fake_set,
					   .free = fake_free };

void rig_say(struct rig *r, const char *what)
{
	world_line(what);
	rig_check(r);
}

bool rig_may_say(const struct rig *r, const char *what)
{
	unsigned has = (r->ready ? NEEDS_READY : NEEDS_OPENING) | (r->prompted ? NEEDS_PROMPT : 0) |
		       (r->asks ? NEEDS_ASK : 0);

	for (size_t i = 0; i < ARRAY_SIZE(sayings); i++)
		if (strcmp(sayings[i].name, what) == 0)
			return world_alive() && (sayings[i].needs & has) == sayings[i].needs;
	return false;
}
