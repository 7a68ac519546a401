/* What a receiver of telemetry answers, as protobuf or JSON, whatever it is: the number is one, and the message a part of it. The first
 * byte says which. */
#include "fuzz.h"

#include "outbox/otlp/otlp_body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exact_free) struct slice body = exact(data + (size > 0), size ? size - 1 : 0);
	struct slice message;
	uint64_t n = otlp_answer_rejected(body, size && *data == 'j', &message);

	FUZZ_CHECK(n <= INT64_MAX);
	FUZZ_CHECK(!message.n || (message.p >= body.p && message.p + message.n <= body.p + body.n));
	return 0;
}
