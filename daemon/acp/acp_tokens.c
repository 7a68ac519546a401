/* acp_tokens.c - _acpd/tokens/mint, list and revoke: the tokens that the daemon has minted (access/tokens.h). */
#include "acp/acp_internal.h"

#include "access/tokens.h"
#include "base/limits.h"
#include "json/jdec.h"

#define BY_ACP "acp"

int on_tokens_mint(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);
	int r;

	jw_obj(&w, NULL);
	r = tokens_mint(c->srv->tokens, m->params, BY_ACP, &w, e);
	jw_end_obj(&w);
	if (r == 0)
		conn_result(c, NULL, m->id, buf_slice(&b));
	if (b.data)
		secret_wipe(b.data, b.cap);
	return r;
}

struct list_params {
	struct slice meta;
};

static const struct jfield list_fields[] = {
	JF_OBJ(struct list_params, meta, "_meta", 0),
	JF_END,
};

int on_tokens_list(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct list_params a = { 0 };
	struct jw w = JW(&b);
	int r = own_params(m->params, list_fields, &a, e);

	if (r < 0)
		return r;
	jw_obj(&w, NULL);
	tokens_put(c->srv->tokens, &w);
	jw_end_obj(&w);
	conn_result(c, NULL, m->id, buf_slice(&b));
	jdec_free(list_fields, &a);
	return 0;
}

struct revoke_params {
	char *id;
	struct slice meta;
};

static const struct jfield revoke_fields[] = {
	JF_STR(struct revoke_params, id, "id", JF_REQUIRED, TOKEN_ID_SIZE),
	JF_OBJ(struct revoke_params, meta, "_meta", 0),
	JF_END,
};

int on_tokens_revoke(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	struct revoke_params a = { 0 };
	int r = own_params(m->params, revoke_fields, &a, e);

	if (r == 0)
		r = tokens_revoke(c->srv->tokens, a.id, BY_ACP, e);
	if (r == 0)
		conn_result(c, NULL, m->id, SLICE("{}"));
	jdec_free(revoke_fields, &a);
	return r;
}
