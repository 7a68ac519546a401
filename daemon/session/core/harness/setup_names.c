/* setup_names.c - the parameters of a session that wait for its harness, by the names that clients know. */
#include "session/core/harness/setup.h"

void setup_put_names(unsigned changes, struct jw *w)
{
	static const struct {
		enum setup_change bit;
		const char *name;
	} names[] = {
		{ SETUP_SERVERS, "mcpServers" },
		{ SETUP_MCP, "mcp" },
		{ SETUP_POLICY, "policy" },
		{ SETUP_DIRS, "additionalDirectories" },
		{ SETUP_ENV, "env" },
		{ SETUP_PROVIDER, "provider" },
		{ SETUP_MODEL, "model" },
		{ SETUP_PROMPT, "systemPrompt" },
		{ SETUP_NETWORK, "network" },
		{ SETUP_LEVEL, "level" },
		{ SETUP_INNER, "innerSandbox" },
		{ SETUP_MODE, "mode" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (changes & names[i].bit)
			jw_str(w, NULL, names[i].name);
}
