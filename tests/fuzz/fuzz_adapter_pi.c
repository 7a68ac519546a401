/* The Pi adapter between a hostile Pi and the core (adapter.h). Flags: 1 the provider is ours. */
#include "adapter.h"

#include "harnesses/harness.h"

static void check_sent(struct slice message)
{
	FUZZ_CHECK(is_json(message, J_OBJECT));
	FUZZ_CHECK(jobj_get(message, "type").type == J_STRING);
}

static void request(unsigned flags, struct harness_req *req, struct fake *f _unused_)
{
	static const struct harness_provider provider = { .model = NULL };

	req->session_id = "sess_1";
	req->model = "m";
	req->mcp_servers = SLICE("[{\"name\":\"a-b\"},{}]");
	if (flags & F_1)
		req->provider = &provider;
}

#define MODEL "{\"id\":\"m\",\"provider\":\"acpd\"}"
#define RESPONSE(id, data)                                                                         \
	"{\"type\":\"response\",\"id\":\"" id "\",\"success\":true,\"data\":" data "}"

static const char *const opening[] = {
	"{\"type\":\"extension_ui_request\",\"id\":\"u\",\"method\":\"setStatus\",\"statusKey\":\"acpd\","
	"\"statusText\":\"{\\\"version\\\":\\\"1\\\"}\"}",
	RESPONSE("1", "{\"model\":" MODEL "}"),
	RESPONSE("2", "{\"models\":[" MODEL "]}"),
	RESPONSE("3", "{\"model\":" MODEL "}"),
	RESPONSE("4", "{\"levels\":[\"off\"]}"),
	NULL,
};

static const struct adapter_setting settings[] = {
	{ 'm', "\"configId\":\"mode\",\"value\":\"plan\"" },
	{ 's', "\"configId\":\"model\",\"value\":\"a/b\"" },
	{ 'l', "\"configId\":\"thought_level\",\"value\":\"high\"" },
	{ 'x', "\"configId\":\"c\",\"value\":1" },
	{ 0, NULL },
};

static const struct adapter_target target = {
	.ops = &harness_pi,
	.request = request,
	.check_sent = check_sent,
	.opening = opening,
	.native_id = "old",
	.prompt = "[{\"type\":\"text\",\"text\":\"hi\"}]",
	.answer = "{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"allow_once\"}}",
	.settings = settings,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return adapter_fuzz(&target, data, size);
}
