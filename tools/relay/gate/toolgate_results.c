/*
 * toolgate_results.c - writes the results with which the gate answers for a server.
 *
 * A refusal is a result with isError, because models read results and not errors of JSON-RPC. A
 * tool with an output schema gets no structuredContent, which clients would validate; the schemas
 * of the built-in tools allow an error. Programs find the error in _meta.acpd in any case.
 */
#include "tools/relay/gate/toolgate_internal.h"

#include "json/jenc.h"

static const struct {
	const char *code, *text;
} sentences[] = {
	{ "POLICY_DENIED", "the session's policy denies this tool" },
	{ "PERMISSION_REJECTED", "permission for this call was refused" },
	{ "MAX_CALLS", "the calls that the session's policy allows are used up" },
	{ "BUDGET_SPENT", "the session's budget of tool calls is used up" },
	{ "TIMEOUT", "the call took longer than the session's policy allows and was cancelled" },
	{ "RESULT_TOO_LARGE", "the result is larger than the session's policy allows" },
	{ "TOOL_CALL_LOST",
	  "the connection to whoever runs this tool broke while it had the call. It may have been carried out or not, and was not sent again. "
	  "Find out what became of it before you call it once more" },
	{ "DRY_RUN", "dry run: the call was recorded and not made" },
};

static const char *sentence(const char *code)
{
	for (size_t i = 0; i < ARRAY_SIZE(sentences); i++)
		if (strcmp(sentences[i].code, code) == 0)
			return sentences[i].text;
	return code;
}

static void toolgate_result_put_text(const char *tool, const struct toolgate_refusal *why,
				     struct jw *w)
{
	_cleanup_(buf_done) struct buf text = { 0 };

	buf_printf(&text, "%s: %s", tool, sentence(why->code));
	if (why->limit)
		buf_printf(&text, " (%s %lld)", why->limit, (long long)why->value);
	jw_arr(w, "content");
	jw_object(w, NULL, JW_STR("type", "text"), JW_SLICE("text", buf_slice(&text)));
	jw_end_arr(w);
}

static void toolgate_result_put_error(const char *tool, const struct toolgate_refusal *why,
				      struct jw *w)
{
	jw_obj(w, "error");
	jw_str(w, "code", why->code);
	jw_str(w, "message", sentence(why->code));
	jw_str(w, "tool", tool);
	jw_str(w, "limit", why->limit);
	if (why->limit)
		jw_int(w, "value", why->value);
	jw_end_obj(w);
}

/* A dry run is no failure. But a client that was promised a schema accepts only an error without the members of that
 * schema. */
void toolgate_says(const struct toolgate *g, const char *tool, const struct toolgate_refusal *why,
		   struct buf *out)
{
	bool dry = strcmp(why->code, "DRY_RUN") == 0;
	bool structured = !toolgate_list_has_schema(g, tool) || g->config.builtin;
	struct jw w = JW(out);

	jw_obj(&w, NULL);
	toolgate_result_put_text(tool, why, &w);
	if (structured) {
		jw_obj(&w, "structuredContent");
		if (dry && !g->config.builtin)
			jw_bool(&w, "dryRun", true);
		else
			toolgate_result_put_error(tool, why, &w);
		jw_end_obj(&w);
	}
	jw_bool(&w, "isError", !dry || !structured || g->config.builtin);
	jw_obj(&w, "_meta");
	jw_obj(&w, "acpd");
	toolgate_result_put_error(tool, why, &w);
	jw_end_obj(&w);
	jw_end_obj(&w);
	jw_str(&w, "resultType", "complete");
	jw_end_obj(&w);
}
