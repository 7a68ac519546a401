/*
 * children.c - the threads of subagents. Interrupting a turn does not stop them: a cancelled one interrupts each that
 * has a turn, and then has the commands of all of them killed.
 */
#include "harnesses/codex/internal.h"

struct codex_child {
	struct list link;
	uint64_t number;
	char *thread, *turn; /* turn NULL: none runs */
};

static void child_free(struct codex_child *c)
{
	list_del(&c->link);
	free_each(c->thread, c->turn, c);
}

void codex_children_free(struct harness *h)
{
	while (!list_empty(&h->children))
		child_free(list_first(&h->children, struct codex_child, link));
}

/* Takes ownership of thread. */
static struct codex_child *child_of(struct harness *h, char *thread)
{
	struct codex_child *c;

	list_each(known, &h->children, struct codex_child, link) {
		if (strcmp(known->thread, thread) == 0) {
			free(thread);
			return known;
		}
	}
	c = new0(struct codex_child);
	/* A number instead of a pointer as the tag of calls, so a late answer never refers to freed
	 * memory. */
	c->number = ++h->last_child;
	c->thread = thread;
	list_add_tail(&h->children, &c->link);
	return c;
}

void codex_child_note(struct harness *h, const char *method, struct slice params)
{
	char *thread = codex_str(params, "threadId"), *turn = codex_str(params, "turnId");
	struct codex_child *c;

	if (!thread) {
		free(turn);
		return;
	}
	c = child_of(h, thread);
	/* turn/started has the id in params.turn, the others in params.turnId. */
	if (strcmp(method, "turn/started") == 0) {
		free(turn);
		turn = codex_str(jobj_get(params, "turn").raw, "id");
	}
	if (strcmp(method, "turn/completed") == 0)
		xstrset(&c->turn, NULL);
	else if (strcmp(method, "turn/started") == 0 || strcmp(method, "item/started") == 0)
		xstrset(&c->turn, turn);
	free(turn);
}

static int send_clean(struct harness *h, const struct codex_child *c)
{
	return codex_request(h, "thread/backgroundTerminals/clean", h->on_cleaned, 0,
			     JW_STR("threadId", c->thread));
}

static void on_child_interrupted(void *ctx, uint64_t number, const struct rpc_msg *m)
{
	struct harness *h = ctx;

	if (!m)
		return;
	list_each(c, &h->children, struct codex_child, link) {
		if (c->number != number)
			continue;
		xstrset(&c->turn, NULL);
		if (send_clean(h, c) >= 0)
			return;
	}
	/* The clean could not be sent, so its answer is counted here: the turn waits for n of them. */
	h->on_cleaned(h, 0, m);
}

static int send_interrupt(struct harness *h, const struct codex_child *c)
{
	return codex_request(h, "turn/interrupt", on_child_interrupted, c->number,
			     JW_STR("threadId", c->thread), JW_STR("turnId", c->turn));
}

unsigned codex_children_stop(struct harness *h, rpc_reply_fn cleaned)
{
	unsigned n = 0;

	h->on_cleaned = cleaned;
	list_each(c, &h->children, struct codex_child, link)
		if ((c->turn ? send_interrupt(h, c) : send_clean(h, c)) >= 0)
			n++;
	return n;
}
