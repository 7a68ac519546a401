/*
 * call_meter.c - reads usage, errors and the end of a model call from the passing answer.
 *
 * The body is untrusted and unbounded, so nothing of it is buffered: sse_lines splits events, and
 * jpush reports only the values whose paths meter_places.c wants. FORM_JSON is one document,
 * FORM_EVENTS one document per event. A later count replaces an earlier one, as each is the sum so
 * far. A value that does not parse clears its count.
 */
#include "model/call_meter.h"

#include "base/format/digits.h"
#include "base/http/http_fields.h"
#include "base/http/sse_lines.h"
#include "harnesses/provider.h"
#include "json/jpush.h"
#include "json/jstr.h"
#include "model/meter_places.h"

#define DONE_MARK "[DONE]" /* the last event of openai-chat, which is no JSON */

/* How the answer comes is seen from its first byte that is not white space. */
enum meter_form { FORM_UNKNOWN, FORM_JSON, FORM_EVENTS };

struct call_meter {
	enum model_api api;
	enum meter_form form;
	int status;
	struct sse_lines lines;
	struct jpush json;
	char mark[sizeof(DONE_MARK)]; /* how the event begins */
	size_t mark_n;
	struct harness_usage told; /* as the API counts */
	bool has_tool_prompt, fresh, spoilt, ended, tools;
	uint64_t tool_prompt;
	char *text[TEXT_MAX];
};

/* --- values ------------------------------------------------------------------------------------------------------- */

static void take_count(struct call_meter *m, enum harness_count what, struct jval v)
{
	/* A null says nothing: an earlier count stays. */
	if (v.type == J_NULL)
		return;
	m->told.has &= ~(1u << what); /* what cannot be understood is not known */
	harness_usage_set(&m->told, what, v);
}

static void take_tool_prompt(struct call_meter *m, struct jval v)
{
	struct harness_usage u = { 0 };

	harness_usage_set(&u, COUNT_INPUT, v);
	m->has_tool_prompt = u.has;
	m->tool_prompt = u.count[COUNT_INPUT];
}

static void meter_take_cost(struct call_meter *m, struct jval v)
{
	int64_t cost;

	if (v.type != J_NUMBER || !harness_cost_parse(v.raw, &cost))
		return;
	m->told.has_cost = true;
	m->told.cost = cost;
}

/* An error's code is a number or a word. Of a message that is too long the beginning tells enough. */
static void meter_take_text(struct call_meter *m, enum meter_text what, struct jval v)
{
	bool number = what == TEXT_ERROR_CODE || what == TEXT_EVENT_CODE;
	char *text = NULL;

	if (v.type == J_NONE && v.raw.n &&
	    (what == TEXT_ERROR_MESSAGE || what == TEXT_EVENT_MESSAGE))
		v.type = J_STRING;
	if (v.type == J_NUMBER && number)
		text = xstrndup(v.raw.p, v.raw.n);
	else if (jstr_decode_shown(v, JPUSH_TEXT_MAX, &text) < 0)
		return;
	/* A later text replaces an earlier one, but only if it could be decoded. */
	free(m->text[what]);
	m->text[what] = text;
}

static void meter_take_type(struct call_meter *m, struct jval v)
{
	_cleanup_(freep) char *type = NULL;

	if (jstr_decode(v, JPUSH_TEXT_MAX, &type) == 0)
		m->tools |= meter_type_is_tool(type);
}

static int on_wants(void *ctx, const char *path)
{
	struct call_meter *m = ctx;

	return meter_place(m->api, path);
}

static void on_metered_value(void *ctx, int take, struct jval v)
{
	struct call_meter *m = ctx;

	m->fresh = true;
	if (take < COUNT_MAX)
		take_count(m, (enum harness_count)take, v);
	else if (take == TAKE_TOOL_PROMPT)
		take_tool_prompt(m, v);
	else if (take == TAKE_COST)
		meter_take_cost(m, v);
	else if (take == TAKE_TOOL)
		m->tools |= v.type == J_STRING;
	else if (take == TAKE_OUTPUT_TYPE)
		meter_take_type(m, v);
	else
		meter_take_text(m, (enum meter_text)(take - TAKE_TEXT), v);
}

/* --- events ------------------------------------------------------------------------------------------------------- */

static void begin_json(struct call_meter *m)
{
	static const struct jpush_ops ops = { on_wants, on_metered_value };

	jpush_begin(&m->json, &ops, m);
	m->mark_n = 0;
	/* From TEXT_EVENT_TYPE on, texts are those of one event; the others last until the answer ends. */
	for (int i = TEXT_EVENT_TYPE; i < TEXT_MAX; i++)
		free(TAKE_PTR(m->text[i]));
}

static bool is_done_mark(const struct call_meter *m)
{
	return slice_is((struct slice){ m->mark, m->mark_n }, DONE_MARK);
}

static void move_text(struct call_meter *m, enum meter_text from, enum meter_text to)
{
	if (!m->text[from])
		return;
	free(m->text[to]);
	m->text[to] = TAKE_PTR(m->text[from]);
}

static bool has_usage(const struct call_meter *m)
{
	return m->told.has & (1u << COUNT_INPUT | 1u << COUNT_OUTPUT);
}

/* The last numbers come with the reason why the answer ends, or after it. Only of openai-responses the reason, which is a
 * state there, is told before. */
static bool has_last_usage(const struct call_meter *m)
{
	return m->api != MODEL_OPENAI_RESPONSES && m->text[TEXT_FINISH] && has_usage(m);
}

/* These APIs have no event for it, or not always. */
static bool ends_with_usage(const struct call_meter *m)
{
	return m->api != MODEL_ANTHROPIC && has_last_usage(m);
}

static void end_meter_event(struct call_meter *m)
{
	const char *type = m->text[TEXT_EVENT_TYPE];

	if (type && strcmp(type, "error") == 0) {
		move_text(m, TEXT_EVENT_CODE, TEXT_ERROR_CODE);
		move_text(m, TEXT_EVENT_MESSAGE, TEXT_ERROR_MESSAGE);
		if (!m->text[TEXT_ERROR_TYPE])
			m->text[TEXT_ERROR_TYPE] = xstrdup(type);
	}
	m->ended |= (type && meter_type_ends(m->api, type)) || ends_with_usage(m);
}

static bool on_answer_event(void *ctx)
{
	struct call_meter *m = ctx;
	bool whole = jpush_end(&m->json);

	m->fresh = true;
	/* First, because the mark is not JSON and would count as a broken event. */
	if (is_done_mark(m))
		m->ended |= m->api == MODEL_OPENAI_CHAT;
	else if (whole)
		end_meter_event(m);
	else if (!jpush_empty(&m->json))
		m->spoilt = true;
	begin_json(m);
	return true;
}

static void on_piece(void *ctx, enum sse_field field, struct slice piece)
{
	struct call_meter *m = ctx;
	size_t n = MIN(piece.n, sizeof(m->mark) - m->mark_n);

	if (field != SSE_DATA)
		return;
	/* mark is one byte longer than the text, so longer data cannot match. */
	memcpy(m->mark + m->mark_n, piece.p, n);
	m->mark_n += n;
	jpush_feed(&m->json, piece);
}

static void on_answer_line(void *ctx, enum sse_field field)
{
	struct call_meter *m = ctx;

	/* Data lines are joined by a newline (WHATWG HTML, server-sent events): white space between tokens. */
	if (field == SSE_DATA)
		jpush_feed(&m->json, SLICE("\n"));
}

/* --- from outside --------------------------------------------------------------------------------------------------- */

struct call_meter *call_meter_new(enum model_api api)
{
	struct call_meter *m = new0(struct call_meter);

	m->api = api;
	begin_json(m);
	return m;
}

struct call_meter *call_meter_free(struct call_meter *m)
{
	if (!m)
		return NULL;
	for (int i = 0; i < TEXT_MAX; i++)
		free(m->text[i]);
	jpush_release(&m->json);
	free(m);
	return NULL;
}

static void take_cost_header(struct call_meter *m, struct jval v)
{
	_cleanup_(freep) char *text = NULL;

	if (jstr_decode(v, JPUSH_TEXT_MAX, &text) == 0)
		meter_take_cost(m, (struct jval){ J_NUMBER, slice_of(text) });
}

void call_meter_head(struct call_meter *m, int status, struct slice headers)
{
	m->status = status;
	jobj_each(name, v, headers) {
		if (http_word_is(name, "x-request-id") || http_word_is(name, "request-id"))
			meter_take_text(m, TEXT_REQUEST_ID, v);
		else if (http_word_is(name, "x-litellm-response-cost"))
			take_cost_header(m, v);
	}
}

static void find_form(struct call_meter *m, struct slice bytes)
{
	/* An event stream begins with a field name or a colon, never with a bracket. */
	for (size_t i = 0; i < bytes.n && m->form == FORM_UNKNOWN; i++)
		if (!strchr(" \t\r\n", bytes.p[i]))
			m->form = bytes.p[i] == '{' || bytes.p[i] == '[' ? FORM_JSON : FORM_EVENTS;
}

bool call_meter_feed(struct call_meter *m, struct slice bytes)
{
	static const struct sse_lines_ops ops = { on_piece, on_answer_line, on_answer_event };

	m->fresh = false;
	find_form(m, bytes);
	if (m->form == FORM_JSON)
		jpush_feed(&m->json, bytes);
	else if (m->form == FORM_EVENTS)
		sse_lines_feed(&m->lines, bytes, &ops, m);
	return m->fresh;
}

static bool has_error(const struct call_meter *m)
{
	return m->text[TEXT_ERROR_CODE] || m->text[TEXT_ERROR_TYPE] || m->text[TEXT_ERROR_MESSAGE];
}

/* What was refused told all by its status; google has no other end than this one. */
void call_meter_end(struct call_meter *m)
{
	if (m->form == FORM_JSON && jpush_end(&m->json))
		end_meter_event(m);
	m->ended |= m->status >= 300 || (m->api == MODEL_GOOGLE && has_usage(m) && !has_error(m));
}

/* --- what it comes to ----------------------------------------------------------------------------------------------- */

static void include_in_count(struct harness_usage *u, enum harness_count whole, uint64_t part)
{
	u->count[whole] += part;
	u->has |= 1u << whole;
}

static void include_count(struct harness_usage *u, enum harness_count whole,
			  enum harness_count part)
{
	if (u->has & 1u << part)
		include_in_count(u, whole, u->count[part]);
}

static bool knows(const struct harness_usage *u, enum harness_count what)
{
	return u->has & 1u << what;
}

/* What the API counts apart is added to what it is a part of. */
static void normalise_usage(const struct call_meter *m, struct harness_usage *u)
{
	if (m->api == MODEL_ANTHROPIC) {
		if (!knows(u, COUNT_CACHE_WRITE)) {
			include_count(u, COUNT_CACHE_WRITE, COUNT_CACHE_WRITE_5M);
			include_count(u, COUNT_CACHE_WRITE, COUNT_CACHE_WRITE_1H);
		}
		if (!knows(u, COUNT_INPUT))
			return;
		include_count(u, COUNT_INPUT, COUNT_CACHE_READ);
		include_count(u, COUNT_INPUT, COUNT_CACHE_WRITE);
	} else if (m->api == MODEL_GOOGLE) {
		include_count(u, COUNT_OUTPUT, COUNT_REASONING);
		if (m->has_tool_prompt && knows(u, COUNT_INPUT))
			include_in_count(u, COUNT_INPUT, m->tool_prompt);
	}
}

static bool classify_by_error_word(struct turn_error *te, const char *word)
{
	return word && provider_error_by_word(te, word);
}

static bool classify_by_number(struct turn_error *te, const char *code)
{
	uint64_t status;

	if (!code || !u64_parse(slice_of(code), &status) || status < 400 || status > 599)
		return false;
	provider_error_by_status(te, (int)status);
	return true;
}

static void read_meter_error(const struct call_meter *m, struct metered *ret)
{
	struct turn_error *te = &ret->error, said;
	const char *message = m->text[TEXT_ERROR_MESSAGE];
	bool known;

	te->cls = "provider";
	te->retryable = true;
	if (message)
		snprintf(te->message, sizeof(te->message), "%s", message);
	else
		snprintf(te->message, sizeof(te->message), "the model provider reported an error");
	err_flatten(te->message);
	said = *te;
	known = classify_by_error_word(&said, m->text[TEXT_ERROR_CODE]) ||
		classify_by_error_word(&said, m->text[TEXT_ERROR_TYPE]) ||
		classify_by_number(&said, m->text[TEXT_ERROR_CODE]);
	if (m->status < 300) {
		*te = said;
		return;
	}
	provider_error_by_status(te, m->status);
	/* what no status says */
	if (known &&
	    (strcmp(said.cls, "quota") == 0 || strcmp(said.cls, "context_overflow") == 0)) {
		te->cls = said.cls;
		te->retryable = false;
	}
}

void call_meter_read(const struct call_meter *m, struct metered *ret)
{
	const char *detail = m->text[TEXT_FINISH_DETAIL];

	/* Texts stay those of m: the next feed may free them. */
	*ret = (struct metered){ .usage = m->told, .status = m->status };
	normalise_usage(m, &ret->usage);
	ret->usage.model = m->text[TEXT_MODEL];
	ret->usage.response_id = m->text[TEXT_ID];
	ret->usage.finish_reason = detail ? detail : m->text[TEXT_FINISH];
	ret->service_tier = m->text[TEXT_TIER];
	ret->request_id = m->text[TEXT_REQUEST_ID];
	ret->complete = !m->spoilt && (m->ended || (m->form == FORM_JSON && jpush_done(&m->json)));
	ret->settled = ret->complete || (!m->spoilt && has_last_usage(m));
	ret->calls_tools = m->tools || (ret->usage.finish_reason &&
					meter_type_is_tool(ret->usage.finish_reason));
	ret->failed = m->status >= 300 || has_error(m);
	if (ret->failed)
		read_meter_error(m, ret);
}
