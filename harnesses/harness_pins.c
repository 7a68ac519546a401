#include "harnesses/harness_pins.h"

#include "base/util.h"

/* clang-format off */
static const struct harness_pin pins[] = {
#ifdef __x86_64__
	{ "opencode", "opencode-linux-x64", "1.18.34", "1.18.34", "bin/opencode", PIN_FILE,
	  "9ca0b9953d49997601655e54f846a3efa464f237e47c6f1b04716d0f2e64c4c2" },
	{ "codex", "@openai/codex", "0.171.0-linux-x64", "0.171.0", "vendor/x86_64-unknown-linux-musl/bin/codex", PIN_FILE,
	  "b76a027d6b210f9a8da7aaf321dd235c700f0ef7a794d4a5314b9af6c134f0f0" },
	{ "copilot", "@github/copilot-linux-x64", "1.0.102", "1.0.102", "copilot", PIN_FILE,
	  "b673fa072f7e9ec6d01dcef14ae22807beba4bcaa945f1d8c1518ec464cec9fd" },
#endif
	{ "claude", "@agentclientprotocol/claude-agent-acp", "0.101.0", "0.101.0", "dist/index.js", PIN_TREE,
	  "25888b7c43c3596138519a6de227882978bfe3974fcf1efabba63a8a185f06cd" },
	{ "gemini", "@google/gemini-cli", "0.61.0", "0.61.0", "bundle/gemini.js", PIN_TREE,
	  "c8c63a52921ad219f99e6174402a6d4ef37a198bd3bf64af11000b6fe2027add" },
	{ "pi", "@earendil-works/pi-coding-agent", "1.6.0", "1.6.0", "dist/bundle/cli.js", PIN_TREE,
	  "f851b7d5c91e28201b5d3cfbbf0e84dc3dd59fe55b38edc4dca0f08a12c16365" },
};
/* clang-format on */

const struct harness_pin *harness_pin_of(const struct harness_def *def)
{
	for (size_t i = 0; !def->own_command && i < ARRAY_SIZE(pins); i++)
		if (strcmp(pins[i].id, def->id) == 0)
			return &pins[i];
	return NULL;
}
