/* What a model call used, as the four APIs tell it: streamed and not, cut anywhere, with errors inside, malformed. Every answer
 * gives the same in one piece, byte by byte, and in two pieces, wherever it is cut. */
#include "model/call_meter.h"
#include "unit.h"

#define LF "\n\n"

static void put_count(struct buf *b, const struct harness_usage *u, const char *name, int what)
{
	if (u->has & 1u << what)
		buf_printf(b, " %s=%llu", name, (unsigned long long)u->count[what]);
}

static void put_text(struct buf *b, const char *name, const char *text)
{
	if (text)
		buf_printf(b, " %s=%s", name, text);
}

/* In one line, what is known. */
static void describe(const struct call_meter *m, struct buf *b)
{
	static const struct {
		const char *name;
		int what;
	} counts[] = { { "in", COUNT_INPUT },	       { "out", COUNT_OUTPUT },
		       { "read", COUNT_CACHE_READ },   { "write", COUNT_CACHE_WRITE },
		       { "5m", COUNT_CACHE_WRITE_5M }, { "1h", COUNT_CACHE_WRITE_1H },
		       { "think", COUNT_REASONING },   { "total", COUNT_TOTAL } };
	struct metered got;

	call_meter_read(m, &got);
	buf_puts(b, got.complete ? "complete" : "incomplete");
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		put_count(b, &got.usage, counts[i].name, counts[i].what);
	if (got.usage.has_cost)
		buf_printf(b, " cost=%lld", (long long)got.usage.cost);
	put_text(b, "model", got.usage.model);
	put_text(b, "id", got.usage.response_id);
	put_text(b, "finish", got.usage.finish_reason);
	put_text(b, "tier", got.service_tier);
	put_text(b, "request", got.request_id);
	if (got.calls_tools)
		buf_puts(b, " tools");
	if (got.failed)
		buf_printf(b, " failed:%s,%d%s:%s", got.error.cls, got.error.http_status,
			   got.error.retryable ? ",again" : "", got.error.message);
}

struct answer {
	enum model_api api;
	int status;
	const char *headers, *body, *want;
};

enum cutting { WHOLE, BYTES, TWO };

static void run(const struct answer *a, enum cutting how, size_t cut, struct buf *ret)
{
	struct slice body = slice_of(a->body);
	struct call_meter *m = call_meter_new(a->api);

	call_meter_head(m, a->status, slice_of(a->headers));
	for (size_t at = 0; at < body.n;) {
		size_t n = how == BYTES ? 1 : how == TWO && at == 0 && cut ? cut : body.n - at;
		struct slice piece = exact_copy((struct slice){ body.p + at, n });

		call_meter_feed(m, piece);
		slice_freep(&piece);
		at += n;
	}
	call_meter_end(m);
	describe(m, ret);
	call_meter_free(m);
}

static void check(const struct answer *a, size_t row, enum cutting how, size_t cut)
{
	_cleanup_(buf_done) struct buf got = { 0 };

	run(a, how, cut, &got);
	if (!slice_is(buf_slice(&got), a->want))
		fail_msg("row %zu, cut %d at %zu:\n  want: %s\n  got:  %.*s", row, how, cut,
			 a->want, (int)buf_len(&got), got.data);
}

#define CHUNK "data: {\"id\":\"c-1\",\"object\":\"chat.completion.chunk\",\"model\":\"gpt-x\","
#define CHAT_TEXT                                                                                  \
	CHUNK "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi {\\\"usage\\\":1}\"},"        \
	      "\"finish_reason\":null}],\"usage\":null}" LF
#define CHAT_STOP(why)                                                                             \
	CHUNK "\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" why "\"}],"            \
	      "\"usage\":null}" LF
#define CHAT_USAGE                                                                                 \
	CHUNK "\"choices\":[],\"service_tier\":\"default\",\"usage\":{\"prompt_tokens\":1200,"     \
	      "\"completion_tokens\":340,\"total_tokens\":1540,\"prompt_tokens_details\":"         \
	      "{\"cached_tokens\":900},\"completion_tokens_details\":{\"reasoning_tokens\":64}}}" LF
#define CHAT_DONE "data: [DONE]" LF

#define RESPONSE(status, more)                                                                     \
	"\"response\":{\"id\":\"resp-1\",\"object\":\"response\",\"status\":\"" status "\","       \
	"\"error\":null,\"model\":\"gpt-y\"," more "\"service_tier\":\"flex\"}"
#define RESPONSES_CREATED                                                                          \
	"event: response.created\ndata: {\"type\":\"response.created\"," RESPONSE(                 \
		"in_progress", "\"usage\":null,") "}" LF
#define RESPONSES_USAGE                                                                            \
	"\"usage\":{\"input_tokens\":2000,\"input_tokens_details\":{\"cached_tokens\":1500,"       \
	"\"cache_write_tokens\":0},\"output_tokens\":50,\"output_tokens_details\":"                \
	"{\"reasoning_tokens\":0},\"total_tokens\":2050},"

#define MESSAGE_START                                                                              \
	"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg-1\","   \
	"\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-z\",\"content\":[],"       \
	"\"stop_reason\":null,\"usage\":{\"input_tokens\":10,\"cache_creation_input_tokens\":100," \
	"\"cache_read_input_tokens\":900,\"cache_creation\":{\"ephemeral_5m_input_tokens\":60,"    \
	"\"ephemeral_1h_input_tokens\":40},\"output_tokens\":1,"                                   \
	"\"service_tier\":\"standard\"}}}" LF
#define MESSAGE_DELTA(out)                                                                         \
	"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"      \
	"\"end_turn\"},\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":null,"           \
	"\"output_tokens\":" out "}}" LF
#define MESSAGE_STOP "event: message_stop\ndata: {\"type\":\"message_stop\"}" LF
#define ANTHROPIC_SUM "in=1010 out=75 read=900 write=100 5m=60 1h=40 "
#define ANTHROPIC_WHO "model=claude-z id=msg-1"

#define GOOGLE_ONE                                                                                 \
	"{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}],\"usageMetadata\":"        \
	"{\"promptTokenCount\":100,\"cachedContentTokenCount\":80,\"totalTokenCount\":100},"       \
	"\"modelVersion\":\"gem-1\",\"responseId\":\"g-1\"}"
#define GOOGLE_TWO                                                                                  \
	"{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"b\"}]},\"finishReason\":\"STOP\"}]," \
	"\"usageMetadata\":{\"promptTokenCount\":100,\"toolUsePromptTokenCount\":7,"                \
	"\"cachedContentTokenCount\":80,\"candidatesTokenCount\":5,\"thoughtsTokenCount\":20,"      \
	"\"totalTokenCount\":132},\"modelVersion\":\"gem-1\",\"responseId\":\"g-1\"}"
#define GOOGLE_SUM "in=107 out=25 read=80 think=20 total=132 model=gem-1 id=g-1 finish=STOP"

#define FFFD "\xef\xbf\xbd"

static const struct answer answers[] = {
	/* openai-chat */
	{ MODEL_OPENAI_CHAT, 200, "{\"X-Request-Id\":\"req-9\"}",
	  CHAT_TEXT CHAT_STOP("stop") CHAT_USAGE CHAT_DONE,
	  "complete in=1200 out=340 read=900 think=64 total=1540 model=gpt-x id=c-1 finish=stop "
	  "tier=default request=req-9" },
	{ MODEL_OPENAI_CHAT, 200, "", CHAT_TEXT CHAT_STOP("tool_calls") CHAT_USAGE,
	  "complete in=1200 out=340 read=900 think=64 total=1540 model=gpt-x id=c-1 "
	  "finish=tool_calls tier=default tools" },
	{ MODEL_OPENAI_CHAT, 200, "", CHAT_TEXT CHAT_STOP("stop") CHAT_DONE,
	  "complete model=gpt-x id=c-1 finish=stop" },
	{ MODEL_OPENAI_CHAT, 200, "", CHAT_TEXT, "incomplete model=gpt-x id=c-1" },
	{ MODEL_OPENAI_CHAT, 200, "",
	  ": OPENROUTER PROCESSING\r\n\r\ndata:{\"choices\":[{\"finish_reason\":\"stop\"}]}\r\r"
	  "data: {\"usage\":\ndata: {\"prompt_tokens\":0,\"completion_tokens\":3,\ndata: \"cost\":"
	  "0.00014}}\r\n\r\n",
	  "complete in=0 out=3 cost=140000000 finish=stop" },
	{ MODEL_OPENAI_CHAT, 200, "",
	  "data: {\"usage\":{\"prompt_tokens\":9007199254740993,\"completion_tokens\":-1,"
	  "\"total_tokens\":1.5,\"prompt_tokens_details\":{\"cached_tokens\":\"7\"},"
	  "\"cost\":-1}}" LF CHAT_DONE,
	  "complete" },
	{ MODEL_OPENAI_CHAT, 200, "",
	  "data: {\"error\":{\"message\":\"Slow\\ndown\",\"code\":429},\"choices\":[{\"delta\":{},"
	  "\"finish_reason\":\"error\"}]}" LF,
	  "incomplete finish=error failed:rate_limit,429,again:Slow down" },
	{ MODEL_OPENAI_CHAT, 200, "",
	  CHAT_TEXT "data: {\"error\":{\"message\":\"no more\",\"type\":\"insufficient_quota\","
		    "\"code\":\"insufficient_quota\"}}" LF,
	  "incomplete model=gpt-x id=c-1 failed:quota,402:no more" },
	{ MODEL_OPENAI_CHAT, 200, "", "data: {\"error\":\"broken\"}" LF,
	  "incomplete failed:provider,0,again:broken" },
	{ MODEL_OPENAI_CHAT, 200, "", CHAT_TEXT "data: {\"choices\":[}" LF CHAT_USAGE CHAT_DONE,
	  "incomplete in=1200 out=340 read=900 think=64 total=1540 model=gpt-x id=c-1 "
	  "tier=default" },
	{ MODEL_OPENAI_CHAT, 200, "{\"x-litellm-response-cost\":\"1.5e-3\"}",
	  " {\"id\":\"c-2\",\"model\":\"m\",\"choices\":[{\"message\":{\"content\":\"x\","
	  "\"tool_calls\":[{\"function\":{\"name\":\"run\"}}]},\"finish_reason\":\"stop\"}],"
	  "\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":2,\"prompt_cache_hit_tokens\":1}}",
	  "complete in=4 out=2 read=1 cost=1500000000 model=m id=c-2 finish=stop tools" },
	{ MODEL_OPENAI_CHAT, 429, "",
	  "{\"error\":{\"message\":\"quota\",\"code\":\"insufficient_quota\"}}",
	  "complete failed:quota,429:quota" },
	{ MODEL_OPENAI_CHAT, 400, "",
	  "{\"error\":{\"message\":\"m\",\"code\":\"context_length_exceeded\"}}",
	  "complete failed:context_overflow,400:m" },
	{ MODEL_OPENAI_CHAT, 503, "", "<html>Busy</html>",
	  "complete failed:provider,503,again:the model provider reported an error" },
	{ MODEL_OPENAI_CHAT, 200, "",
	  "data: {\"id\":\"c-\\ud83d\",\"model\":\"m\xff\",\"choices\":[{\"finish_reason\":\"s\\u0000\"}]}" LF
	  "data: {\"model\":\"\\x\"}" LF
	  "data: {\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":2}}" LF CHAT_DONE,
	  "incomplete in=4 out=2 model=m" FFFD " id=c-" FFFD " finish=s" FFFD },
	{ MODEL_OPENAI_CHAT, 400, "",
	  "{\"error\":{\"message\":\"\\ud83d a\\u0000b \xff\",\"code\":\"context_length_exceeded\"}}",
	  "complete failed:context_overflow,400:" FFFD " a" FFFD "b " FFFD },
	{ MODEL_OPENAI_CHAT, 401, "", "",
	  "complete failed:auth,401:the model provider reported an error" },
	{ MODEL_OPENAI_CHAT, 200, "", "", "incomplete" },
	/* openai-responses */
	{ MODEL_OPENAI_RESPONSES, 200, "",
	  RESPONSES_CREATED
	  "data: {\"type\":\"response.output_text.delta\",\"delta\":\"x\",\"item_id\":\"i\"}" LF
	  "data: {\"type\":\"response.completed\"," RESPONSE("completed", RESPONSES_USAGE) "}" LF,
	  "complete in=2000 out=50 read=1500 write=0 think=0 total=2050 model=gpt-y id=resp-1 "
	  "finish=completed tier=flex" },
	{ MODEL_OPENAI_RESPONSES, 200, "",
	  RESPONSES_CREATED
	  "data: {\"item\":{\"type\":\"function_call\",\"name\":\"shell\"},\"type\":"
	  "\"response.output_item.done\"}" LF "data: {" RESPONSE(
		  "incomplete",
		  "\"incomplete_details\":{\"reason\":\"max_output_tokens\"}," RESPONSES_USAGE) ",\"type\":\"response.incomplete\"}" LF,
	  "complete in=2000 out=50 read=1500 write=0 think=0 total=2050 model=gpt-y id=resp-1 "
	  "finish=max_output_tokens tier=flex tools" },
	{ MODEL_OPENAI_RESPONSES, 200, "", RESPONSES_CREATED,
	  "incomplete model=gpt-y id=resp-1 finish=in_progress tier=flex" },
	{ MODEL_OPENAI_RESPONSES, 200, "",
	  "data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":"
	  "{\"code\":\"server_error\",\"message\":\"oops\"},\"usage\":null}}" LF,
	  "complete finish=failed failed:provider,500,again:oops" },
	{ MODEL_OPENAI_RESPONSES, 200, "",
	  "event: error\ndata: {\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":"
	  "\"slow\",\"param\":null}" LF,
	  "incomplete failed:rate_limit,429,again:slow" },
	{ MODEL_OPENAI_RESPONSES, 200, "",
	  "data: {\"type\":\"response.code.delta\",\"code\":\"x\",\"message\":\"no error\"}" LF,
	  "incomplete" },
	{ MODEL_OPENAI_RESPONSES, 200, "",
	  "{\"id\":\"r\",\"status\":\"completed\",\"error\":null,\"output\":[{\"type\":"
	  "\"custom_tool_call\"}],\"usage\":{\"input_tokens\":1,\"output_tokens\":2}}",
	  "complete in=1 out=2 id=r finish=completed tools" },
	/* anthropic */
	{ MODEL_ANTHROPIC, 200, "{\"request-id\":\"req-a\"}",
	  MESSAGE_START "event: ping\ndata: {\"type\":\"ping\"}" LF MESSAGE_DELTA("30")
		  MESSAGE_DELTA("75") MESSAGE_STOP,
	  "complete " ANTHROPIC_SUM ANTHROPIC_WHO " finish=end_turn tier=standard request=req-a" },
	{ MODEL_ANTHROPIC, 200, "", MESSAGE_START,
	  "incomplete in=1010 out=1 read=900 write=100 5m=60 1h=40 " ANTHROPIC_WHO
	  " tier=standard" },
	{ MODEL_ANTHROPIC, 200, "",
	  MESSAGE_START
	  "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\","
	  "\"message\":\"Overloaded\"}}" LF,
	  "incomplete in=1010 out=1 read=900 write=100 5m=60 1h=40 " ANTHROPIC_WHO
	  " tier=standard failed:provider,529,again:Overloaded" },
	{ MODEL_ANTHROPIC, 200, "",
	  "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"c\",\"usage\":"
	  "{\"input_tokens\":0,\"output_tokens\":0}}}" LF
	  "data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"tool_use\"}}" LF
	  "data: {\"type\":\"message_delta\",\"usage\":{\"input_tokens\":8,"
	  "\"cache_read_input_tokens\":4,\"output_tokens\":2}}" LF MESSAGE_STOP,
	  "complete in=12 out=2 read=4 model=c id=m tools" },
	{ MODEL_ANTHROPIC, 200, "",
	  "{\"id\":\"m\",\"type\":\"message\",\"model\":\"c\",\"stop_reason\":\"tool_use\",\"usage\":"
	  "{\"input_tokens\":5,\"cache_creation\":{\"ephemeral_1h_input_tokens\":3},"
	  "\"output_tokens\":6,\"output_tokens_details\":{\"thinking_tokens\":4}}}",
	  "complete in=8 out=6 write=3 1h=3 think=4 model=c id=m finish=tool_use tools" },
	{ MODEL_ANTHROPIC, 529, "",
	  "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}",
	  "complete failed:provider,529,again:Overloaded" },
	/* google */
	{ MODEL_GOOGLE, 200, "", "data: " GOOGLE_ONE "\r\n\r\ndata: " GOOGLE_TWO "\r\n\r\n",
	  "complete " GOOGLE_SUM },
	{ MODEL_GOOGLE, 200, "", "data: " GOOGLE_ONE LF "data: " GOOGLE_TWO,
	  "complete " GOOGLE_SUM },
	{ MODEL_GOOGLE, 200, "", "[" GOOGLE_ONE "\n,\r\n" GOOGLE_TWO "\n]",
	  "complete " GOOGLE_SUM },
	{ MODEL_GOOGLE, 200, "", "[" GOOGLE_ONE ",\n" GOOGLE_TWO, "complete " GOOGLE_SUM },
	{ MODEL_GOOGLE, 200, "", GOOGLE_TWO, "complete " GOOGLE_SUM },
	{ MODEL_GOOGLE, 200, "",
	  "[{\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"run\"}}]}}]}]",
	  "complete tools" },
	{ MODEL_GOOGLE, 200, "",
	  "[" GOOGLE_ONE ",{\"error\":{\"code\":503,\"message\":\"busy\",\"status\":"
	  "\"UNAVAILABLE\"}}]",
	  "complete in=100 read=80 total=100 model=gem-1 id=g-1 failed:provider,503,again:busy" },
	{ MODEL_GOOGLE, 200, "",
	  "data: " GOOGLE_ONE LF "data: {\"error\":{\"code\":429,\"message\":\"no\",\"status\":"
	  "\"insufficient_quota\"}}" LF,
	  "incomplete in=100 read=80 total=100 model=gem-1 id=g-1 failed:quota,402:no" },
	{ MODEL_GOOGLE, 403, "",
	  "{\"error\":{\"code\":403,\"message\":\"no\",\"status\":\"PERMISSION_DENIED\"}}",
	  "complete failed:auth,403:no" },
};

static void every_answer_in_one_piece_and_in_bytes(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		check(&answers[i], i, WHOLE, 0);
		check(&answers[i], i, BYTES, 0);
	}
}

static void wherever_it_is_cut_in_two(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
		for (size_t cut = 1; cut < strlen(answers[i].body); cut += stride(37))
			check(&answers[i], i, TWO, cut);
}

/* Whatever is lost at the end: nothing is told that the whole does not tell, and it is not complete before its end. */
static void a_cut_answer_is_not_complete(void **state _unused_)
{
	struct slice body = SLICE(MESSAGE_START MESSAGE_DELTA("75") MESSAGE_STOP);
	struct call_meter *m = call_meter_new(MODEL_ANTHROPIC);
	struct metered got;

	call_meter_head(m, 200, SLICE_NONE);
	for (size_t i = 0; i < body.n; i++) {
		call_meter_read(m, &got);
		assert_false(got.complete || got.failed);
		assert_true(got.usage.count[COUNT_OUTPUT] <= 75);
		call_meter_feed(m, (struct slice){ body.p + i, 1 });
	}
	call_meter_read(m, &got);
	assert_true(got.complete);
	call_meter_free(m);
}

/* Before the body has ended: its last word may be what a harness ends its turn at. */
static void known_with_the_last_word(void **state _unused_)
{
	static const struct {
		enum model_api api;
		const char *body;
	} rows[] = {
		{ MODEL_OPENAI_CHAT, CHAT_STOP("stop") CHAT_USAGE },
		{ MODEL_OPENAI_CHAT, "{\"usage\":{\"prompt_tokens\":1}}" },
		{ MODEL_ANTHROPIC, MESSAGE_START MESSAGE_DELTA("2") MESSAGE_STOP },
		{ MODEL_GOOGLE, "data: " GOOGLE_TWO LF },
		{ MODEL_GOOGLE, "[" GOOGLE_TWO "]" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct call_meter *m = call_meter_new(rows[i].api);
		struct metered got;

		call_meter_head(m, 200, SLICE_NONE);
		assert_true(call_meter_feed(m, slice_of(rows[i].body)));
		call_meter_read(m, &got);
		if (!got.complete)
			fail_row(i, rows[i].body);
		call_meter_free(m);
	}
}

/* Half a megabyte of answer before the numbers, and a depth that is refused. */
static void large_and_deep(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct call_meter *m = call_meter_new(MODEL_OPENAI_RESPONSES);
	struct metered got;

	buf_puts(&b, "data: {\"type\":\"response.completed\",\"response\":{\"output\":[\"");
	for (int i = 0; i < 50000; i++)
		buf_puts(&b, "\\\"usage\\\":");
	buf_puts(&b, "\"]," RESPONSES_USAGE "\"id\":\"r\"}}" LF);
	call_meter_feed(m, buf_slice(&b));
	call_meter_read(m, &got);
	assert_true(got.complete);
	assert_int_equal(got.usage.count[COUNT_INPUT], 2000);
	call_meter_free(m);

	buf_reset(&b);
	buf_puts(&b, "data: {\"deep\":");
	for (int i = 0; i < 64; i++)
		buf_putc(&b, '[');
	buf_puts(&b, LF "data: {\"type\":\"response.completed\"}" LF);
	m = call_meter_new(MODEL_OPENAI_RESPONSES);
	call_meter_feed(m, buf_slice(&b));
	call_meter_read(m, &got);
	assert_false(got.complete);
	call_meter_free(m);
}

/* An error whose message is n letters long: nothing of it is kept beyond the limit, however it is cut. */
static void check_long_error(const char *head, const char *tail, size_t n, size_t step)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct call_meter *m = call_meter_new(MODEL_OPENAI_CHAT);
	struct metered got;

	buf_puts(&b, head);
	for (size_t i = 0; i < n; i++)
		buf_putc(&b, 'x');
	buf_puts(&b, tail);
	call_meter_head(m, 400, SLICE_NONE);
	for (size_t at = 0; at < b.len; at += step) {
		struct slice piece =
			exact_copy((struct slice){ b.data + at, MIN(step, b.len - at) });

		call_meter_feed(m, piece);
		slice_freep(&piece);
	}
	call_meter_end(m);
	call_meter_read(m, &got);
	assert_true(got.complete && got.failed);
	assert_string_equal(got.error.cls, "provider");
	assert_memory_equal(got.error.message, "the words: xxxx", 15);
	assert_int_equal(strlen(got.error.message), sizeof(got.error.message) - 1);
	assert_int_equal(got.usage.count[COUNT_INPUT], 3);
	call_meter_free(m);
}

static void a_value_beyond_its_limit_cut_anywhere(void **state _unused_)
{
	static const size_t
		lengths[] = { JPUSH_TEXT_MAX - 14, JPUSH_TEXT_MAX - 13, JPUSH_TEXT_MAX - 12,
			      JPUSH_TEXT_MAX - 3,  JPUSH_TEXT_MAX - 2,	JPUSH_TEXT_MAX - 1,
			      JPUSH_TEXT_MAX,	   3 * JPUSH_TEXT_MAX,	120000 },
		steps[] = { 1, 63, JPUSH_TEXT_MAX - 1, JPUSH_TEXT_MAX + 1, 4096, 18000, 65536 };
#define LONG_ERROR "{\"error\":{\"message\":\"the words: "
#define LONG_END "\"},\"usage\":{\"prompt_tokens\":3}}"

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++)
		for (size_t k = 0; k < ARRAY_SIZE(steps); k++) {
			check_long_error(LONG_ERROR, LONG_END, lengths[i], steps[k]);
			check_long_error("data: " LONG_ERROR, LONG_END LF, lengths[i], steps[k]);
		}
}

/* The beginning of a message ends between two characters, and between two escapes. */
static void a_long_message_is_cut_between_characters(void **state _unused_)
{
	static const char *const units[] = { "x",   "\xcf\x80", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
					     "\\n", "\\u00e9",	"\\\\" };

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		for (size_t shift = 0; shift < 6; shift++) {
			_cleanup_(buf_done) struct buf b = { 0 };
			struct call_meter *m = call_meter_new(MODEL_ANTHROPIC);
			struct metered got;

			buf_printf(&b, "{\"type\":\"error\",\"error\":{\"message\":\"%.*s",
				   (int)shift, "abcdef");
			while (b.len < 3 * JPUSH_TEXT_MAX)
				buf_puts(&b, units[i]);
			buf_puts(&b, "\"}}");
			call_meter_head(m, 500, SLICE_NONE);
			call_meter_feed(m, buf_slice(&b));
			call_meter_end(m);
			call_meter_read(m, &got);
			assert_true(got.failed && strlen(got.error.message) > 200);
			call_meter_free(m);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_answer_in_one_piece_and_in_bytes),
		cmocka_unit_test(wherever_it_is_cut_in_two),
		cmocka_unit_test(a_cut_answer_is_not_complete),
		cmocka_unit_test(known_with_the_last_word),
		cmocka_unit_test(large_and_deep),
		cmocka_unit_test(a_value_beyond_its_limit_cut_anywhere),
		cmocka_unit_test(a_long_message_is_cut_between_characters),
	};

	return RUN(tests, NULL, NULL);
}
