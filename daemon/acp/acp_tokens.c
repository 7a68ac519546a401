/* acp_tokens.c - _acpd/tokens/mint, list and revoke: the tokens that the daemon has minted (access/tokens.h). */
#include "acp/acp_internal.h"

#include "access/tokens.h"
#include "base/limits.h"
#include "json/jdec.h"

#define BY_ACP "acp"

static int mint_token(struct acp_request *q, struct err *e)
{
	int r = tokens_mint(q->conn->srv->tokens, q->msg->params, BY_ACP, request_answer(q), e);

	return r < 0 ? r : REQUEST_ANSWER;
}

const struct acp_handler on_tokens_mint = { .run = mint_token, .secret = true };

struct token_args {
	char *id;
	struct slice meta;
};

static const struct jfield token_list_fields[] = {
	JF_OBJ(struct token_args, meta, "_meta", 0),
	JF_END,
};

static const struct jfield revoke_fields[] = {
	JF_STR(struct token_args, id, "id", JF_REQUIRED, TOKEN_ID_SIZE),
	JF_OBJ(struct token_args, meta, "_meta", 0),
	JF_END,
};

static int list_tokens(struct acp_request *q, struct err *e _unused_)
{
	tokens_put(q->conn->srv->tokens, request_answer(q));
	return REQUEST_ANSWER;
}

static int revoke_token(struct acp_request *q, struct err *e)
{
	const struct token_args *a = q->args;
	int r = tokens_revoke(q->conn->srv->tokens, a->id, BY_ACP, e);

	return r < 0 ? r : REQUEST_ANSWER;
}

const struct acp_handler on_tokens_list =
	ACP_HANDLER(list_tokens, struct token_args, token_list_fields);
const struct acp_handler on_tokens_revoke =
	ACP_HANDLER(revoke_token, struct token_args, revoke_fields);
