/*
 * nft_wall.c - brings the nftables table of the kernel to what the holds require, one transaction
 * at a time.
 *
 * `have` is in the kernel, `next` belongs to the running transaction, and nft_wall_target() computes the
 * target. nft_wall_advance() runs as a deferred task and starts a transaction if they differ; waiting holds
 * join it and are notified at its end. After a failed change the table is unsure: all of it is
 * written once more, and a second failure reaches the owners.
 */
#include "egress/nft_wall.h"

#include "base/util.h"
#include "base/limits.h"
#include "base/log.h"
#include "egress/nft_program.h"

#define FIELD "_meta.acpd.network"

enum hold_state {
	HOLD_DONE,    /* its owner has been told */
	HOLD_QUEUED,  /* for a transaction to begin */
	HOLD_RUNNING, /* a transaction has it */
	HOLD_ENDED,   /* it is over: the owner is to be told */
};

struct nft_hold {
	struct list link;
	struct nft_wall *wall;
	uid_t uid;
	struct egress_rules *network; /* NULL: open */
	struct nft_way *ways;
	size_t nways;
	enum hold_state state;
	bool failed;
	nft_held_fn held;
	void *ctx;
};

struct nft_wall {
	struct loop *loop;
	struct proc_host *procs;
	const char *program; /* NULL: there is none */
	char table[NFT_TABLE_SIZE];
	struct list holds;
	uint16_t *ports;
	size_t nports;
	struct nft_elements have, next; /* in the kernel; of the transaction that runs */
	bool there;			/* the kernel has the table */
	bool unsure;			/* nobody knows what is in it */
	struct nft_run *run;
	struct loop_task task;
	struct loop_timer look; /* for a table that is there already */
	bool tried, looked;
	struct err missing, failure;
};

/* --- what is to be ----------------------------------------------------------------------------------------- */

static void nft_wall_target(const struct nft_wall *w, struct nft_elements *ret)
{
	*ret = (struct nft_elements){ 0 };
	list_each(h, &w->holds, struct nft_hold, link) {
		if (!h->network)
			continue;
		nft_elements_add_uid(ret, h->uid);
		for (size_t i = 0; i < h->nways; i++)
			nft_elements_add_way(ret, h->uid, &h->ways[i]);
	}
	/* without anybody to keep in, the ports are open as well: there is no table at all */
	for (size_t i = 0; ret->n && i < w->nports; i++)
		nft_elements_add_port(ret, w->ports[i]);
}

/* --- transactions ------------------------------------------------------------------------------------------ */

static void move_holds(struct nft_wall *w, enum hold_state from, enum hold_state to)
{
	list_each(h, &w->holds, struct nft_hold, link)
		if (h->state == from)
			h->state = to;
}

static bool has_hold(const struct nft_wall *w, enum hold_state state)
{
	list_each(h, &w->holds, struct nft_hold, link)
		if (h->state == state)
			return true;
	return false;
}

/* Owners may take, change and drop from their callback. */
static void notify_ended(struct nft_wall *w)
{
	struct err why = w->failure;
	struct nft_hold *next;

	do {
		next = NULL;
		list_each(h, &w->holds, struct nft_hold, link)
			if (!next && h->state == HOLD_ENDED)
				next = h;
		if (next) {
			next->state = HOLD_DONE;
			next->held(next->ctx, next->failed ? &why : NULL);
		}
	} while (next);
}

static void end_holds(struct nft_wall *w, enum hold_state from, bool failed)
{
	list_each(h, &w->holds, struct nft_hold, link)
		if (h->state == from)
			h->failed = failed;
	move_holds(w, from, HOLD_ENDED);
	notify_ended(w);
}

static void nft_wall_advance(void *ctx);

static void advance_soon(struct nft_wall *w)
{
	loop_defer(w->loop, &w->task, nft_wall_advance, w);
}

/* A change of what is there may fail because somebody else has removed it: all of it is then laid anew, once. */
static void transaction_failed(struct nft_wall *w, const char *why)
{
	bool again = w->there && !w->unsure;

	log_warn("egress",
		 again ? "nft has refused a change, the table is made anew" : "nft has failed",
		 "text", why);
	w->unsure = true;
	if (again) {
		move_holds(w, HOLD_RUNNING, HOLD_QUEUED);
		advance_soon(w);
		return;
	}
	err_set(&w->failure, -EIO, RPC_INTERNAL_ERROR, "NETWORK_POLICY_UNSUPPORTED", "%s", why);
	end_holds(w, HOLD_RUNNING, true);
	if (has_hold(w, HOLD_QUEUED))
		advance_soon(w);
}

static void on_nft_wall_ended(void *ctx, const char *why)
{
	struct nft_wall *w = ctx;

	w->run = NULL;
	if (why) {
		nft_elements_done(&w->next);
		transaction_failed(w, why);
		return;
	}
	nft_elements_done(&w->have);
	w->have = w->next;
	w->next = (struct nft_elements){ 0 };
	w->there = w->have.n > 0;
	w->unsure = false;
	/* The callbacks can change holds, and others may have changed during the transaction: advance checks
	 * again. */
	end_holds(w, HOLD_RUNNING, false);
	advance_soon(w);
}

static void transaction_begin(struct nft_wall *w, struct nft_elements *to)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	struct err e = { 0 };

	if (!to->n)
		nft_rules_put_end(&text, w->table);
	else if (w->there && !w->unsure)
		nft_rules_put_change(&text, w->table, &w->have, to);
	else
		nft_rules_put_table(&text, w->table, to);
	move_holds(w, HOLD_QUEUED, HOLD_RUNNING);
	w->next = *to;
	*to = (struct nft_elements){ 0 };
	if (text.failed)
		err_set(&e, -E2BIG, 0, "", "the rules are too long");
	else
		w->run = nft_run(w->procs, w->program, buf_slice(&text), on_nft_wall_ended, w, &e);
	if (!w->run)
		on_nft_wall_ended(w, e.msg);
}

/* Of this daemon's directory and by an earlier one: no process of its sessions lives (owner.h), so it keeps nobody in. */
static void find_old_table(struct nft_wall *w)
{
	if (w->looked)
		return;
	w->looked = true;
	loop_timer_cancel(&w->look);
	if (geteuid() != 0 || !w->program || nft_table_there(w->table) <= 0)
		return;
	log_info("egress", "a table of an earlier daemon is removed", "table", w->table);
	w->unsure = true;
}

static void nft_wall_advance(void *ctx)
{
	_cleanup_(nft_elements_done) struct nft_elements to = { 0 };
	struct nft_wall *w = ctx;

	if (w->run) /* its end goes on with the holds that wait */
		return;
	if (!list_empty(&w->holds))
		find_old_table(w);
	nft_wall_target(w, &to);
	if (!w->unsure && nft_elements_same(&w->have, &to))
		end_holds(w, HOLD_QUEUED, false);
	else
		transaction_begin(w, &to);
}

/* --- holds ------------------------------------------------------------------------------------------------- */

static bool nft_wall_is_open(const struct egress_rules *network)
{
	return !network || egress_rules_mode(network) == EGRESS_ON;
}

static bool is_same_network(const struct egress_rules *a, const struct egress_rules *b)
{
	return nft_wall_is_open(a) || nft_wall_is_open(b) ?
		       nft_wall_is_open(a) && nft_wall_is_open(b) :
		       egress_rules_same(a, b);
}

static int check_others(const struct nft_wall *w, const struct nft_hold *self, uid_t uid,
			const struct nft_rule *rule, struct err *e)
{
	list_each(h, &w->holds, struct nft_hold, link)
		if (h != self && h->uid == uid && !is_same_network(h->network, rule->network)) {
			err_field(
				e, FIELD, "NETWORK_POLICY_UNSUPPORTED",
				"another session runs as the same user (uid %u) with another network, and "
				"nftables tells them apart by user only",
				uid);
			return -EBUSY;
		}
	return 0;
}

static int check_rule(struct nft_wall *w, const struct nft_hold *self, uid_t uid,
		      const struct nft_rule *rule, struct err *e)
{
	bool open = nft_wall_is_open(rule->network);
	struct nft_elements ways = { 0 };
	int r = 0;

	/* by the daemon's user the wall would keep in the daemon itself */
	if (!open && uid == geteuid())
		return err_field(e, FIELD, "NETWORK_POLICY_UNSUPPORTED",
				 "it runs as the daemon's own user, whom no wall may keep in");
	if (!open && nft_wall_missing(w))
		return err_field(e, FIELD, "NETWORK_POLICY_UNSUPPORTED", "%s", nft_wall_missing(w));
	/* Into a list that is dropped: an address is refused before any hold changes. */
	for (size_t i = 0; r == 0 && i < rule->nways; i++)
		r = nft_elements_add_way(&ways, uid, &rule->ways[i]);
	nft_elements_done(&ways);
	if (r < 0)
		return err_field(e, FIELD, "NETWORK_POLICY_UNSUPPORTED",
				 "a listener has no address");
	return check_others(w, self, uid, rule, e);
}

static void hold_fill(struct nft_hold *h, const struct nft_rule *rule, nft_held_fn held, void *ctx)
{
	h->network = egress_rules_free(h->network);
	free(TAKE_PTR(h->ways));
	h->nways = 0;
	if (!nft_wall_is_open(rule->network)) {
		h->network = egress_rules_copy(rule->network);
		for (size_t i = 0; i < rule->nways; i++)
			*GROW(h->ways, h->nways) = rule->ways[i];
	}
	h->held = held;
	h->ctx = ctx;
	/* Also if a transaction runs with the former rule: its end is then not reported to this hold. */
	h->state = HOLD_QUEUED;
	advance_soon(h->wall);
}

struct nft_hold *nft_hold_take(struct nft_wall *w, uid_t uid, const struct nft_rule *rule,
			       nft_held_fn held, void *ctx, struct err *e)
{
	struct nft_hold *h;

	if (check_rule(w, NULL, uid, rule, e) < 0)
		return NULL;
	h = new0(struct nft_hold);
	h->wall = w;
	h->uid = uid;
	list_add_tail(&w->holds, &h->link);
	hold_fill(h, rule, held, ctx);
	return h;
}

int nft_hold_change(struct nft_hold *h, const struct nft_rule *rule, nft_held_fn held, void *ctx,
		    struct err *e)
{
	int r = check_rule(h->wall, h, h->uid, rule, e);

	if (r == 0)
		hold_fill(h, rule, held, ctx);
	return r;
}

/* The kernel keeps the elements until the next transaction. `held` is not called any more. */
struct nft_hold *nft_hold_drop(struct nft_hold *h)
{
	if (!h)
		return NULL;
	list_del(&h->link);
	advance_soon(h->wall);
	egress_rules_free(h->network);
	free_each(h->ways, h);
	return NULL;
}

/* --- the wall ---------------------------------------------------------------------------------------------- */

static void on_old_table_time(void *ctx)
{
	struct nft_wall *w = ctx;

	find_old_table(w);
	if (w->unsure)
		advance_soon(w);
}

/* The first such question may make the kernel load a module. */
struct nft_wall *nft_wall_new(struct loop *loop, struct proc_host *procs, const char *state)
{
	struct nft_wall *w = new0(struct nft_wall);

	w->loop = loop;
	w->procs = procs;
	w->program = nft_program();
	list_init(&w->holds);
	nft_table_name(state, w->table);
	loop_timer_set(loop, &w->look, START_SETTLED_MS, on_old_table_time, w);
	return w;
}

static void remove_now(const struct nft_wall *w)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	struct err e = { 0 };

	nft_rules_put_end(&text, w->table);
	if (nft_run_now(w->program, false, buf_slice(&text), &e) < 0)
		log_warn("egress", "the table could not be removed", "table", w->table, "text",
			 e.msg);
}

struct nft_wall *nft_wall_free(struct nft_wall *w)
{
	bool busy;

	if (!w)
		return NULL;
	find_old_table(w);
	busy = w->run;
	/* First: a running nft could write the table after its removal. */
	w->run = nft_run_end(w->run);
	if (busy || w->there || w->unsure)
		remove_now(w);
	loop_task_cancel(&w->task);
	nft_elements_done(&w->have);
	nft_elements_done(&w->next);
	free_each(w->ports, w);
	return NULL;
}

void nft_wall_close_port(struct nft_wall *w, uint16_t port)
{
	*GROW(w->ports, w->nports) = port;
	advance_soon(w);
}

/* The whole table, but for nobody, and without keeping it. */
static void try_table(struct nft_wall *w)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	struct nft_elements none = { 0 };
	int r = nft_table_there(w->table);

	nft_rules_put_table(&text, w->table, &none);
	if (geteuid() != 0)
		err_set(&w->missing, -EPERM, 0, "NFTABLES", "the daemon is not root");
	else if (!w->program)
		err_set(&w->missing, -ENOENT, 0, "NFTABLES", "nft is not installed");
	else if (r < 0)
		err_set(&w->missing, r, 0, "NFTABLES",
			"nftables cannot be used here (it needs CAP_NET_ADMIN): %s", strerror(-r));
	else
		nft_run_now(w->program, true, buf_slice(&text), &w->missing);
}

const char *nft_wall_missing(struct nft_wall *w)
{
	if (!w)
		return "there is no wall";
	if (!w->tried)
		try_table(w);
	w->tried = true;
	return w->missing.msg[0] ? w->missing.msg : NULL;
}
