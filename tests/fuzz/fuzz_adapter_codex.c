/* The Codex adapter between a hostile app-server and the core (adapter.h). Flags: 1 edits are not asked, 2 nothing is. */
#include "adapter.h"

#include "harnesses/harness.h"

static void request(unsigned flags, struct harness_req *req, struct fake *f _unused_)
{
	req->approval = flags & F_2 ? APPROVAL_NEVER :
			flags & F_1 ? APPROVAL_ACCEPT_EDITS :
				      APPROVAL_ASK;
}

static const char *const opening[] = {
	"{\"id\":1,\"result\":{\"userAgent\":\"acpd/1 x\"}}",
	"{\"id\":2,\"result\":{\"data\":[]}}",
	"{\"id\":3,\"result\":{\"thread\":{\"id\":\"t1\"},\"model\":\"m\"}}",
	"{\"id\":4,\"result\":{}}",
	NULL,
};

static const struct adapter_setting settings[] = {
	{ 's', "\"configId\":\"model\",\"value\":\"n\"" },
	{ 0, NULL },
};

static const struct adapter_target target = {
	.ops = &harness_codex,
	.request = request,
	.check_sent = adapter_check_rpc,
	.opening = opening,
	.native_id = "t1",
	.prompt = "[{\"type\":\"text\",\"text\":\"x\"}]",
	.answer = "{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"allow_always\"},"
		  "\"action\":\"accept\",\"content\":{\"q\":\"A\"}}",
	.settings = settings,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return adapter_fuzz(&target, data, size);
}
