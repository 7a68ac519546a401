/*
 * Text for a shell against rules for commands. Whatever it is, it ends, and a command that is denied alone is denied before and behind it
 * when a line of its own says so.
 */
#include "fuzz.h"

#include "policy/policy.h"

static const char rules[] =
	"{\"commands\":[{\"prefix\":[\"ls\"],\"policy\":\"allow\"},{\"prefix\":[\"find\"],\"policy\":\"allow\"},"
	"{\"prefix\":[\"git\",\"push\"],\"policy\":\"ask\"},{\"prefix\":[\"rm\",\"-rf\",\"/\"],\"policy\":\"deny\"}]}";

static enum policy_verdict judge(const struct policy *p, struct slice before, struct slice text)
{
	_cleanup_(buf_done) struct buf all = { 0 };
	struct err e = { 0 };

	buf_add_slice(&all, before);
	buf_add_slice(&all, text);
	buf_putc(&all, '\0');
	return policy_shell(p, all.data, NULL, &e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(policy_freep) struct policy *p = NULL;
	_cleanup_(exact_free) struct slice text = exact(data, size); /* data may be NULL */
	char *words[3] = { NULL };
	struct err e = { 0 };

	if (size > 4096 || policy_parse(slice_of(rules), NULL, &p, &e) < 0)
		return 0;
	FUZZ_CHECK(judge(p, SLICE("rm -rf /\n"), text) == POLICY_DENY);
	FUZZ_CHECK(judge(p, SLICE("ls $(git push)\n"), text) != POLICY_ALLOW);
	words[0] = xstrndup(text.p, size / 2);
	words[1] = xstrndup(text.p + size / 2, size - size / 2);
	policy_argv(p, words, NULL, &e);
	free(words[0]);
	free(words[1]);
	return 0;
}
