/*
 * pi_session.h - what the tests of the Pi adapter share: a session with a scripted Pi behind it, whose answers are written by hand.
 */
#pragma once

#include "adapter_session.h"

#include "harnesses/pi/internal.h"

static char command[] = "node", first_arg[] = "/opt/pi/cli.js", api[] = "anthropic", key[] = "sk-1",
	    model[] = "m-1", url[] = "http://gw/v1";
static char *args[] = { first_arg, NULL };
static const struct harness_def def _unused_ = { .id = "pi", .command = command, .args = args };
static struct harness_provider provider = { .api = api,
					    .base_url = url,
					    .key = key,
					    .model = model,
					    .headers = { "{\"x\":\"1\"}", 9 },
					    .models = { "[\"m-2\",\"m-1\"]", 13 } };

static inline struct harness_req request(void)
{
	struct harness_req req = fake_request();

	req.session_id = "sess_1";
	req.mcp_servers = SLICE("[]");
	return req;
}

#define HELLO(prompted)                                                                                          \
	"{\"type\":\"extension_ui_request\",\"id\":\"u\",\"method\":\"setStatus\",\"statusKey\":\"acpd\","       \
	"\"statusText\":\"{\\\"type\\\":\\\"hello\\\",\\\"version\\\":\\\"1.5.2\\\",\\\"mode\\\":\\\"build\\\"," \
	"\\\"approval\\\":\\\"ask\\\",\\\"prompted\\\":" prompted "}\"}"
#define ANSWER(id, command, data)                                                                  \
	"{\"id\":\"" id "\",\"type\":\"response\",\"command\":\"" command                          \
	"\",\"success\":true,\"data\":" data "}"
#define REFUSED(id, text)                                                                          \
	"{\"id\":\"" id "\",\"type\":\"response\",\"success\":false,\"error\":\"" text "\"}"
#define STATE(id, model, n)                                                                        \
	ANSWER(id, "get_state",                                                                    \
	       "{\"model\":" model ",\"thinkingLevel\":\"off\",\"messageCount\":" n "}")
#define M1 "{\"id\":\"m-1\",\"name\":\"One\",\"provider\":\"acpd\"}"
#define OTHER "{\"id\":\"gpt\",\"name\":\"GPT\",\"provider\":\"openai\"}"
#define LEVELS(id) ANSWER(id, "get_available_thinking_levels", "{\"levels\":[\"off\",\"high\"]}")

static inline void open_session(const struct harness_req *req, const char *state,
				const char *prompted)
{
	assert_int_equal(fake_open(&f, &harness_pi, req), 0);
	feed(*prompted == 't' ? HELLO("true") : HELLO("false"));
	feed(state);
	feed(ANSWER("2", "get_available_models", "{\"models\":[" M1 "," OTHER "]}"));
}

static inline void ready_session(void)
{
	struct harness_req req = request();

	req.provider = &provider;
	req.model = "m-1";
	open_session(&req, STATE("1", M1, "0"), "false");
	feed(STATE("3", M1, "0"));
	feed(LEVELS("4"));
	feed(ANSWER("5", "get_commands", "{\"commands\":[]}"));
	assert_int_equal(f.readies, 1);
	buf_reset(&f.log);
}
