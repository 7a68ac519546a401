/* sandbox.c - createSandbox. Whoever asks is in one already: it gets the id of this one. */
#include "tools/builtin/toolbox.h"

static void create_sandbox(struct tool_call *c)
{
	_cleanup_(buf_done) struct buf out = { 0 };
	struct jw w = JW(&out);

	jw_str(&w, "sandboxId", toolbox_sandbox_id(c->box));
	tool_done(c, buf_slice(&out));
}

static const struct tool_field create_in[] = {
	{ .name = "name", .type = TOOL_STRING, .max = 256, .text = "no effect" },
	{ .name = "labels", .type = TOOL_MAP, .max = 256, .text = "no effect" },
	{ .name = "language",
	  .type = TOOL_STRING,
	  .max = 64,
	  .text = "no effect: runCode takes it with every call" },
	{ .name = "envVars",
	  .type = TOOL_MAP,
	  .max = 256,
	  .text = "no effect: runCommand and runCode take envs" },
	{ .name = "metadata", .type = TOOL_MAP, .max = 256, .text = "no effect" },
	{ .name = "envs",
	  .type = TOOL_MAP,
	  .max = 256,
	  .text = "no effect: runCommand and runCode take envs" },
	{ .name = "timeoutMS", .type = TOOL_INT, .max = INT32_MAX, .text = "no effect" },
	{ 0 },
};

static const struct tool_field create_out[] = {
	{ .name = "sandboxId",
	  .type = TOOL_STRING,
	  .flags = TOOL_REQUIRED,
	  .text = "id of this sandbox" },
	{ 0 },
};

const struct tool other_tools[] = {
	{
		.name = "createSandbox",
		.title = "Get the sandbox",
		.text = "The tools work in one sandbox, which exists: its id is returned, nothing is created.",
		.category = TOOL_OTHER,
		.hints = HINT_READ_ONLY | HINT_IDEMPOTENT,
		.in = create_in,
		.out = create_out,
		.start = create_sandbox,
	},
	{ 0 },
};
