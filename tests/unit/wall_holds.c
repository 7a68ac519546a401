#include "wall_holds.h"

struct nft_wall *wall;

struct egress_rules *rules_of_network(const char *json)
{
	struct egress_rules *r = NULL;

	assert_int_equal(egress_rules_parse(slice_of(json), "network", &r, NULL), 0);
	return r;
}

int wall_begin(void **state)
{
	scratch_setup(state);
	wall = nft_wall_new(near_loop, near_procs, scratch_dir());
	nft_wall_close_port(wall, NEAR_DAEMON);
	return 0;
}

int wall_end(void **state)
{
	wall = nft_wall_free(wall);
	assert_null(near_possible() ? strstr(near_shell("nft list tables"), "acpd_") : NULL);
	return scratch_done(state);
}

void on_told(void *ctx, const struct err *error)
{
	struct told *t = ctx;

	t->done = true;
	t->e = error ? *error : (struct err){ 0 };
}

const char network_off[] = "{\"mode\":\"off\"}",
	   network_some[] = "{\"mode\":\"allowlist\",\"allow\":[{\"host\":\"a.example\"}]}",
	   network_on[] = "{\"mode\":\"on\"}";

struct nft_hold *hold_take_with(uid_t uid, const char *network, const struct nft_way *ways,
				size_t n, struct err *e)
{
	struct egress_rules *r = rules_of_network(network);
	struct told told = { 0 };
	struct nft_hold *h = nft_hold_take(
		wall, uid, &(struct nft_rule){ .network = r, .ways = ways, .nways = n }, on_told,
		&told, e);

	egress_rules_free(r);
	if (!h)
		return NULL;
	assert_false(told.done);
	near_until(&told.done);
	assert_string_equal(told.e.msg, "");
	return h;
}

struct nft_hold *hold_take(uid_t uid, const char *network)
{
	return hold_take_with(uid, network, NULL, 0, NULL);
}

void hold_change(struct nft_hold *h, const char *network, const struct nft_way *ways, size_t n)
{
	struct egress_rules *r = rules_of_network(network);
	struct told told = { 0 };

	assert_int_equal(nft_hold_change(h, &(struct nft_rule){ r, ways, n }, on_told, &told, NULL),
			 0);
	near_until(&told.done);
	assert_string_equal(told.e.msg, "");
	egress_rules_free(r);
}

void hold_drop(struct nft_hold *h)
{
	struct nft_hold *open;

	nft_hold_drop(h);
	open = hold_take(4242, network_on); /* waits for what came before */
	nft_hold_drop(open);
}
