/*
 * The field decoder with the tables of session/new, load and resume, the checks behind them, what a session keeps of it,
 * and the rendering of an adapter: an error names its field and leaves nothing behind, a success holds only what the rules allow.
 */
#include "fuzz.h"

#include "acp/params.h"
#include "harnesses/harness.h"
#include "harnesses/spawn_plan.h"
#include "json/jstr.h"
#include "session/core/turn/prompt_content.h"

static void check_refusal(const struct err *e)
{
	check_err(e);
	FUZZ_CHECK(e->rpc == RPC_INVALID_PARAMS);
	FUZZ_CHECK(e->field[0]);
}

/* Encoding repairs what is not UTF-8, so that it is not the same any more. */
static bool is_text(const char *s)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	FUZZ_CHECK(jstr_encode(&b, slice_of(s)) == 0);
	return jstr_is((struct jval){ J_STRING, buf_slice(&b) }, s);
}

static void check_args(const struct session_args *a, enum session_call call)
{
	FUZZ_CHECK(a->cwd && is_text(a->cwd) && strlen(a->cwd) <= 4096);
	FUZZ_CHECK((a->session_id != NULL) == (call != CALL_NEW));
	FUZZ_CHECK(!a->session_id ||
		   (is_text(a->session_id) && strlen(a->session_id) <= RPC_ID_MAX));
	FUZZ_CHECK(call == CALL_RESUME || call == CALL_FORK || a->mcp_servers.type != J_NONE);
	FUZZ_CHECK(!a->meta.n || is_json(a->meta, J_OBJECT));
	for (size_t i = 0; i < a->setup.ngiven; i++) {
		const struct parameter_given *g = &a->setup.given[i];

		FUZZ_CHECK(g->of->type == JF_T_STR || g->v.type <= J_NULL ||
			   is_json(g->v.raw, g->v.type));
	}
	FUZZ_CHECK(a->from_seq >= 0);
}

/* provider has passed the session's own check. */
static void check_plan(struct slice provider)
{
	struct harness_def def = { .id = "x", .command = "x" };
	struct harness_provider p;
	struct harness_req req = { .cwd = "/ws", .home = "/h", .provider = &p };
	struct harness_plan plan = { 0 };
	struct err e = { 0 };
	const char *config;

	if (!provider.n)
		return;
	if (harness_provider_parse(provider, &p, &e) < 0) {
		check_refusal(&e);
		return;
	}
	if (harness_opencode.plan(&def, &req, &plan, &e) < 0) {
		check_refusal(&e);
	} else {
		config = harness_plan_getenv(&plan, "OPENCODE_CONFIG_CONTENT");
		FUZZ_CHECK(config && is_json(slice_of(config), J_OBJECT));
	}
	harness_plan_done(&plan);
	harness_provider_done(&p);
}

/* What is applied can be written down and read back, and the key is not in it. */
static void check_setup(const struct setup_params *p)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct setup s = { 0 }, again = { 0 };
	struct jw w = JW(&b);

	setup_apply(&s, p);
	FUZZ_CHECK(!setup_apply(&s, p));
	jw_obj(&w, NULL);
	setup_put(&s, &w);
	jw_end_obj(&w);
	FUZZ_CHECK(is_json(buf_slice(&b), J_OBJECT));
	setup_load(&again, buf_slice(&b));
	FUZZ_CHECK(again.approval == s.approval && again.needs_provider == (s.provider != NULL));
	FUZZ_CHECK((!again.env || setup_given(p, &env_keep_parameter)) && !again.secrets &&
		   !again.provider);
	setup_done(&s);
	setup_done(&again);
}

static void check_session(struct session_args *a, const struct harness_caps *caps)
{
	struct session_params p = { 0 };
	struct err e = { 0 };

	if (session_args_check(a, caps, &p, &e) < 0) {
		check_refusal(&e);
		return;
	}
	FUZZ_CHECK(p.cwd[0] == '/');
	FUZZ_CHECK(!p.setup.mcp_servers.n || is_json(p.setup.mcp_servers, J_ARRAY));
	FUZZ_CHECK(!p.setup.additional_dirs.n || is_json(p.setup.additional_dirs, J_ARRAY));
	FUZZ_CHECK(caps->additional_dirs || p.setup.additional_dirs.n == 0 ||
		   !memchr(p.setup.additional_dirs.p, '"', p.setup.additional_dirs.n));
	check_setup(&p.setup);
}

static void check_call(struct slice text, enum session_call call)
{
	static const struct harness_caps none, all = { .image = true,
						       .audio = true,
						       .embedded_context = true,
						       .http = true,
						       .sse = true,
						       .additional_dirs = true,
						       .system_append = true,
						       .system_override = true };
	struct session_args a;
	struct err e = { 0 };

	if (session_args_decode(text, call, &a, &e) < 0) {
		check_refusal(&e);
		FUZZ_CHECK(!a.cwd && !a.session_id && !a.harness && !a.incarnation);
		return;
	}
	check_args(&a, call);
	check_session(&a, &none);
	check_session(&a, &all);
	check_plan(setup_given_text(&a.setup, &provider_parameter));
	session_args_free(&a);
}

static void check_prompt(struct slice content)
{
	static const struct harness_caps none, all = { .image = true,
						       .audio = true,
						       .embedded_context = true,
						       .http = true,
						       .sse = true,
						       .additional_dirs = true,
						       .system_append = true,
						       .system_override = true };
	struct err e = { 0 };
	int some, every;

	some = prompt_content_check(content, &none, &e);
	if (some < 0)
		check_refusal(&e);
	every = prompt_content_check(content, &all, &e);
	FUZZ_CHECK(some < 0 || every == 0); /* more capabilities never refuse more */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exact_free) struct slice text = exact(data, size);
	struct jval prompt;

	check_call(text, CALL_NEW);
	check_call(text, CALL_LOAD);
	check_call(text, CALL_RESUME);
	check_call(text, CALL_FORK);
	prompt = jobj_get(text, "prompt");
	if (prompt.type == J_ARRAY)
		check_prompt(prompt.raw);
	return 0;
}
