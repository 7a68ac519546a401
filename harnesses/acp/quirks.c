/*
 * quirks.c - the measured rows of stdio ACP agents: environment, files, error texts and modes.
 *
 * A row belongs to the release named above it. A new release of an agent can change any value, so a
 * row changes only with a new measurement. The order of variables matters: a later entry of the
 * same name wins, if all its placeholders have values. So a general entry precedes the one for a
 * specific API.
 */
#include "harnesses/acp/quirks.h"

/* Where most agents look. */
#define SHARED_SKILLS ".agents/skills"

const struct acp_quirks acp_no_quirks = {
	.name = "",
	.places = { .skills_dir = SHARED_SKILLS, .instructions_file = "AGENTS.md" },
};

/* Those of the table were seen to ask about commands and edits, each by its own idea of what is harmless. */
#define OWN_IDEA                                                                                   \
	"the agent decides by itself which calls are harmless, and does not ask about those"
static const struct harness_asking unsure[CALL_MAX] = {
	[CALL_READ] = { false, OWN_IDEA },    [CALL_EDIT] = { true, NULL },
	[CALL_EXECUTE] = { false, OWN_IDEA }, [CALL_MCP] = { false, OWN_IDEA },
	[CALL_OTHER] = { false, OWN_IDEA },
};

/* --- GitHub Copilot CLI 1.0.102 ---------------------------------------------------------------------- */

static const struct acp_env copilot_env[] = {
	{ NULL, "COPILOT_HOME", "{home}/.copilot" },
	{ NULL, "COPILOT_AUTO_UPDATE", "false" },
	{ NULL, "COPILOT_MODEL", "{model}" },
	{ "openai-chat", "COPILOT_PROVIDER_TYPE", "openai" },
	{ "openai-chat", "COPILOT_PROVIDER_WIRE_API", "completions" },
	{ "openai-chat", "COPILOT_PROVIDER_BASE_URL", "{baseUrl}" },
	{ "openai-chat", "COPILOT_PROVIDER_API_KEY", "{key}" },
	{ "openai-chat", "COPILOT_PROVIDER_HEADERS", "{headers}" },
	{ "openai-chat", "COPILOT_OFFLINE", "true" },
	{ "openai-responses", "COPILOT_PROVIDER_TYPE", "openai" },
	{ "openai-responses", "COPILOT_PROVIDER_WIRE_API", "responses" },
	{ "openai-responses", "COPILOT_PROVIDER_BASE_URL", "{baseUrl}" },
	{ "openai-responses", "COPILOT_PROVIDER_API_KEY", "{key}" },
	{ "openai-responses", "COPILOT_PROVIDER_HEADERS", "{headers}" },
	{ "openai-responses", "COPILOT_OFFLINE", "true" },
	{ "anthropic", "COPILOT_PROVIDER_TYPE", "anthropic" },
	{ "anthropic", "COPILOT_PROVIDER_BASE_URL", "{root}" },
	{ "anthropic", "COPILOT_PROVIDER_API_KEY", "{key}" },
	{ "anthropic", "COPILOT_PROVIDER_HEADERS", "{headers}" },
	{ "anthropic", "COPILOT_OFFLINE", "true" },
	{ NULL, NULL, NULL },
};

static const struct acp_text copilot_errors[] = {
	{ "Error: Failed to get response from the AI model", NULL, true },
	{ "Error: Authentication failed with provider", NULL, true },
	{ "Error: ", NULL, false },
	{ NULL, NULL, false },
};
static const struct acp_text copilot_notices[] = {
	{ "Info: ", " Retrying...", true },
	{ NULL, NULL, false },
};

/* --- Claude Agent ACP 0.101.0 -------------------------------------------------------------------------- */

static const struct acp_env claude_env[] = {
	{ NULL, "CLAUDE_CONFIG_DIR", "{home}/.claude" },
	{ NULL, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1" },
	{ NULL, "DISABLE_AUTOUPDATER", "1" },
	{ NULL, "DISABLE_TELEMETRY", "1" },
	{ NULL, "DISABLE_ERROR_REPORTING", "1" },
	/* ten silent tries by itself: half a minute for a wrong key */
	{ NULL, "CLAUDE_CODE_MAX_RETRIES", "3" },
	/* else tools of MCP servers are hidden by a search tool */
	{ NULL, "ENABLE_TOOL_SEARCH", "false" },
	/* characters for the list of skills; with its own 1 % of the context, installed ones lose their
	 * descriptions to those it brings */
	{ NULL, "SLASH_COMMAND_TOOL_CHAR_BUDGET", "40000" },
	{ NULL, "ANTHROPIC_MODEL", "{model}" },
	{ "anthropic", "ANTHROPIC_BASE_URL", "{root}" },
	{ "anthropic", "ANTHROPIC_AUTH_TOKEN", "{key}" },
	{ "anthropic", "ANTHROPIC_CUSTOM_HEADERS", "{headers}" },
	/* side calls (titles, summaries) go to the same model unless another is named: the provider may have no
	 * other */
	{ "anthropic", "ANTHROPIC_SMALL_FAST_MODEL", "{model}" },
	{ "anthropic", "ANTHROPIC_SMALL_FAST_MODEL", "{smallModel}" },
	{ NULL, NULL, NULL },
};

/* Else each file of an installed skill is asked about before it is read, and the first answer of a session ends in a
 * warning that auto mode is billed otherwise behind a gateway, with the gateway's address. */
static const struct acp_file claude_files[] = {
	{ ".claude/settings.json", "{\"permissions\":{\"allow\":[\"Read(~/.claude/skills/**)\"],"
				   "\"disableAutoMode\":\"disable\"}}" },
	{ NULL, NULL },
};

static const struct acp_text claude_errors[] = {
	{ "API Error: ", NULL, true },
	{ "Failed to authenticate. API Error: ", NULL, true },
	{ NULL, NULL, false },
};

/* --- Gemini CLI 0.61.0 --------------------------------------------------------------------------------- */

static const struct acp_env gemini_env[] = {
	{ NULL, "GEMINI_CLI_NO_RELAUNCH", "true" },
	/* without it servers of session/new are not used */
	{ NULL, "GEMINI_CLI_TRUST_WORKSPACE", "true" },
	{ NULL, "GEMINI_MODEL", "{model}" },
	{ "google", "GOOGLE_GEMINI_BASE_URL", "{root}" },
	{ "google", "GEMINI_API_KEY", "{key}" },
	{ NULL, NULL, NULL },
};

static const struct acp_file gemini_files[] = {
	{ ".gemini/settings.json",
	  "{\"security\":{\"auth\":{\"selectedType\":\"gemini-api-key\"}},"
	  "\"general\":{\"enableAutoUpdate\":false,\"enableAutoUpdateNotification\":false},"
	  "\"privacy\":{\"usageStatisticsEnabled\":false},\"telemetry\":{\"enabled\":false}}" },
	{ NULL, NULL },
};

const struct acp_quirks acp_quirks[] = {
	{
		.name = "copilot",
		.asks = unsure,
		.usage = ACP_USAGE_SESSION,
		.error_texts = copilot_errors,
		.notice_texts = copilot_notices,
		.exit_in = "contents",
		.exit_code = "exitCode",
		.no_stdio_mcp = true,
		.mcp_file = ".copilot/mcp-config.json",
		.approval_option = "allow_all",
		.approval_values = { [APPROVAL_NEVER] = "on" },
		.model_from_start = true,
		.stop = HARNESS_STOP_402,
		.login_keys = "COPILOT_GITHUB_TOKEN, GH_TOKEN or GITHUB_TOKEN",
		.places = { .skills_dir = SHARED_SKILLS,
			    .instructions_home = ".copilot/copilot-instructions.md",
			    .instructions_file = "AGENTS.md" },
		.env = copilot_env,
	},
	{
		.name = "claude",
		.asks = unsure,
		.usage = ACP_USAGE_TURN,
		.input_excludes_cache = true,
		.error_texts = claude_errors,
		.approval_modes = { [APPROVAL_ACCEPT_EDITS] = "acceptEdits",
				    [APPROVAL_NEVER] = "bypassPermissions" },
		.system_prompt = ACP_SYSTEM_META,
		.stop = HARNESS_STOP_402,
		.login_keys = "ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN",
		.places = { .skills_dir = ".claude/skills",
			    .instructions_home = ".claude/CLAUDE.md",
			    .instructions_file = "CLAUDE.md" },
		.env = claude_env,
		.files = claude_files,
	},
	{
		.name = "gemini",
		.asks = unsure,
		.usage = ACP_USAGE_TURN,
		.usage_place = ACP_USAGE_IN_QUOTA,
		.output_excludes_reasoning = true,
		.echo_text = "[MODE_UPDATE] ",
		.stop = HARNESS_STOP_402,
		.login_keys = "GEMINI_API_KEY",
		.approval_modes = { [APPROVAL_ACCEPT_EDITS] = "autoEdit", [APPROVAL_NEVER] = "yolo" },
		.places = { .skills_dir = SHARED_SKILLS,
			    .instructions_home = ".gemini/GEMINI.md",
			    .instructions_file = "GEMINI.md" },
		.env = gemini_env,
		.files = gemini_files,
	},
	{ 0 },
};
