#include "cli/serve/serve_tokens.h"

#include "acp/acp_server.h"

static bool is_session(void *ctx, const char *id)
{
	return store_find(ctx, id) != NULL;
}

static void on_problem(void *ctx, const char *name, const char *text)
{
	store_note_problem(ctx, "tokens", name, text);
}

struct tokens *serve_tokens_new(const struct config *c, struct loop *loop,
				struct session_store *store)
{
	struct tokens_config tc = { .loop = loop,
				    .state = c->state,
				    .known = is_session,
				    .ceiling = acp_ceiling_check,
				    .problem = on_problem,
				    .ctx = store };

	return tokens_new(&tc);
}
