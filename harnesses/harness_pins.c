#include "harnesses/harness_pins.h"

#include "base/array.h"

/* clang-format off */
static const struct harness_pin pins[] = {
#ifdef __x86_64__
	{ "opencode", "opencode-linux-x64", "1.18.33", "1.18.33", "bin/opencode", PIN_FILE,
	  "0abbb7c32ab0294c0a7bfa2705f9ff0df5dce5ab721d1f00cccfe393f2a11427" },
	{ "codex", "@openai/codex", "0.169.0-linux-x64", "0.169.0", "vendor/x86_64-unknown-linux-musl/bin/codex", PIN_FILE,
	  "b452ca20f838a8855a88a41050ee4a694033fff4ea3ecdad5633e6e0e8d13f2b" },
	{ "copilot", "@github/copilot-linux-x64", "1.0.102", "1.0.102", "copilot", PIN_FILE,
	  "b673fa072f7e9ec6d01dcef14ae22807beba4bcaa945f1d8c1518ec464cec9fd" },
#endif
	{ "claude", "@agentclientprotocol/claude-agent-acp", "0.100.0", "0.100.0", "dist/index.js", PIN_TREE,
	  "9072f5a29cc82e2a03158b9457bbbc4af8a8d19ea77a3bd1ca43a068e0d9c073" },
	{ "gemini", "@google/gemini-cli", "0.61.0", "0.61.0", "bundle/gemini.js", PIN_TREE,
	  "c8c63a52921ad219f99e6174402a6d4ef37a198bd3bf64af11000b6fe2027add" },
	{ "pi", "@earendil-works/pi-coding-agent", "1.5.2", "1.5.2", "dist/bundle/cli.js", PIN_TREE,
	  "08a055831fc99446c13bbc4346d1e09a38d31bc892ad902d448d737881cbb001" },
};
/* clang-format on */

const struct harness_pin *harness_pin_of(const struct harness_def *def)
{
	for (size_t i = 0; !def->own_command && i < ARRAY_SIZE(pins); i++)
		if (strcmp(pins[i].id, def->id) == 0)
			return &pins[i];
	return NULL;
}
