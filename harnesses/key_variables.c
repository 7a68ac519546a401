/* key_variables.c - variables in which agents look for the key of a model provider when nobody tells them of another one. */
#include "harnesses/harness.h"

#include "harnesses/acp/quirks.h"

#include <stdio.h>

/* Those that are for one agent alone come last: for others they are keys of something else. */
static const char *const anyone[] = {
	"OPENAI_API_KEY",
	"CODEX_API_KEY",
	"ANTHROPIC_API_KEY",
	"ANTHROPIC_AUTH_TOKEN",
	"CLAUDE_CODE_OAUTH_TOKEN",
	"GEMINI_API_KEY",
	"GOOGLE_API_KEY",
	"GOOGLE_GENERATIVE_AI_API_KEY",
	"OPENROUTER_API_KEY",
	"AZURE_OPENAI_API_KEY",
	"AWS_BEARER_TOKEN_BEDROCK",
	"MISTRAL_API_KEY",
	"GROQ_API_KEY",
	"XAI_API_KEY",
	"DEEPSEEK_API_KEY",
	"CEREBRAS_API_KEY",
	"AI_GATEWAY_API_KEY",
	"COPILOT_PROVIDER_API_KEY",
	"COPILOT_GITHUB_TOKEN",
};
static const char *const copilot[] = { "GH_TOKEN", "GITHUB_TOKEN" };

static bool is_copilot(const struct harness_def *def)
{
	return def->quirks && strcmp(def->quirks->name, "copilot") == 0;
}

const char *harness_key_variable(const struct harness_def *def, size_t i)
{
	if (i < ARRAY_SIZE(anyone))
		return anyone[i];
	i -= ARRAY_SIZE(anyone);
	return is_copilot(def) && i < ARRAY_SIZE(copilot) ? copilot[i] : NULL;
}

bool harness_takes_provider(const struct harness_def *def)
{
	return def->ops != &harness_acp || (def->quirks && def->quirks->env);
}

void harness_login_hint(const struct harness_def *def, char *ret, size_t size)
{
	const char *keys = def->quirks ? def->quirks->login_keys : NULL;

	if (harness_takes_provider(def))
		snprintf(ret, size, "set _meta.acpd.provider, or %s in _meta.acpd.env",
			 keys ? keys : "the variable of its key");
	else
		snprintf(ret, size,
			 "set the variable of its key in _meta.acpd.env or in env of its manifest "
			 "entry, or name its authMethods there");
}
