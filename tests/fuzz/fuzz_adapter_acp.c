/*
 * The ACP adapter between a hostile agent and the core (adapter.h). Flags: 1 the agent wants to be authenticated, 2 and 3 which row of
 * the quirk table holds, 4 nothing is asked and there is a system prompt.
 */
#include "adapter.h"

#include "harnesses/harness.h"
#include "harnesses/acp/quirks.h"
#include "harnesses/registry.h"

static void request(unsigned flags, struct harness_req *req, struct fake *f)
{
	static const char *const rows[] = { "", "copilot", "claude", "gemini" };

	f->quirks = harness_quirks_find(rows[(flags & F_2 ? 1 : 0) + (flags & F_3 ? 2 : 0)]);
	req->model = "m";
	req->mcp_servers =
		SLICE("[{\"name\":\"s\",\"command\":\"/s\",\"args\":[],\"env\":[]},"
		      "{\"type\":\"http\",\"name\":\"h\",\"url\":\"http://h\",\"headers\":[]}]");
	if (flags & F_1)
		req->auth_method = "key";
	if (flags & F_4) {
		req->approval = APPROVAL_NEVER;
		req->system_prompt = "be brief";
	}
}

/* One of the ids is that of the session, before or after what else must be answered. */
#define OPENED(id)                                                                                 \
	"{\"id\":" id ",\"result\":{\"sessionId\":\"n1\",\"modes\":{\"currentModeId\":\"a\","      \
	"\"availableModes\":[]},\"configOptions\":[{\"id\":\"allow_all\",\"type\":\"select\","     \
	"\"currentValue\":\"off\",\"options\":[]}]}}"

static const char *const opening[] = {
	"{\"id\":1,\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{\"loadSession\":true,"
	"\"mcpCapabilities\":{\"http\":true},\"sessionCapabilities\":{\"resume\":{}}},"
	"\"authMethods\":[{\"id\":\"key\",\"name\":\"Key\"}]}}",
	OPENED("2"),
	OPENED("3"),
	OPENED("4"),
	NULL,
};

static const struct adapter_setting settings[] = {
	{ 's', "\"configId\":\"c\",\"value\":1" },
	{ 'l', "\"configId\":\"model\",\"value\":\"n\"" },
	{ 0, NULL },
};

static const struct adapter_target target = {
	.ops = &harness_acp,
	.request = request,
	.check_sent = adapter_check_rpc,
	.opening = opening,
	.native_id = "n1",
	.prompt = "[]",
	.answer = "{\"outcome\":{\"outcome\":\"cancelled\"}}",
	.settings = settings,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return adapter_fuzz(&target, data, size);
}
