/*
 * The OpenCode adapter between a hostile OpenCode, its plugin included, and the core (adapter.h). Flags: 1 the provider is ours.
 */
#include "adapter.h"

#include "harnesses/harness.h"

static void request(unsigned flags, struct harness_req *req, struct fake *f _unused_)
{
	static char model[] = "m";
	static const struct harness_provider provider = { .model = model };

	req->mcp_servers = SLICE("[{\"name\":\"a.b\"},{\"name\":7},[],{}]");
	if (flags & F_1) {
		req->provider = &provider;
		req->model = model;
	}
}

static const char *const opening[] = {
	"{\"id\":1,\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{\"loadSession\":true}}}",
	"{\"id\":2,\"result\":{\"sessionId\":\"n1\",\"configOptions\":[{\"id\":\"model\",\"name\":\"Model\","
	"\"category\":\"model\",\"type\":\"select\",\"currentValue\":\"acpd/m\","
	"\"options\":[{\"value\":\"acpd/m\",\"name\":\"m\"},{\"value\":\"other/n\",\"name\":\"n\"}]}]}}",
	NULL,
};

static const struct adapter_setting settings[] = {
	{ 's', "\"configId\":\"model\",\"value\":\"m\"" },
	{ 'x', "\"configId\":\"c\",\"value\":1" },
	{ 0, NULL },
};

static const struct adapter_target target = {
	.ops = &harness_opencode,
	.request = request,
	.check_sent = adapter_check_rpc,
	.opening = opening,
	.native_id = "n1",
	.prompt = "[{\"type\":\"text\",\"text\":\"x\"}]",
	.answer = "{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"once\"}}",
	.settings = settings,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return adapter_fuzz(&target, data, size);
}
