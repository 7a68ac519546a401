/* protocol_words.c - words of the protocol of 8 letters and more: member names, kinds, states and methods of ACP (its
 * schema), and ours. */
#include "session/core/redact/secrets.h"

#include "base/util.h"

/* In the order of strcmp. */
static const char *const words[] = {
	/* clang-format off */
	"$/cancel_request", "_acpd/ack", "_acpd/detached", "_acpd/event", "_acpd/gap",
	"_acpd/status", "_acpd/turn_end", "_acpd/usage", "accept-edits", "accepted", "accounts",
	"additionalDirectories", "additionalProperties", "agentCapabilities", "agentInfo",
	"agent_message_chunk", "agent_thought_chunk", "allow_always", "allow_once", "annotations",
	"anthropic", "approvals", "archived", "artifact", "ask_approval", "assistant", "audience",
	"auth/status", "auth/status_update", "authMethods", "authenticate", "authenticated",
	"availableCommands", "availableModes", "available_commands_update", "billingRef",
	"cacheReadTokens", "cacheWriteTokens", "cachedReadTokens", "cachedWriteTokens",
	"cancelled", "capabilities", "category", "clientCapabilities", "clientInfo", "compaction",
	"compactionId", "compaction_summary_chunk", "compaction_update", "completed", "configId",
	"configOptions", "configVersion", "config_option_update", "confinement_refused", "context_overflow", "continue",
	"cumulative", "currency", "currentModeId", "currentValue", "current_mode_update",
	"date-time", "description", "durationMs", "elicitation", "elicitation/complete",
	"elicitation/create", "elicitationId", "embeddedContext", "empty_turn", "end_turn",
	"exitCode", "exitStatus", "expiresAt", "fs/read_text_file", "fs/write_text_file", "harnessVersion",
	"harness_error", "harness_exit", "harness_exited", "harness_protocol", "harness_start",
	"in_progress", "incarnation", "initialize", "inputTokens", "input_required", "invalid_answer",
	"lastModified", "lifecycle",
	"limitBytes", "loadSession", "locations", "malformed", "markdown", "maxItems", "maxLength", "max_tokens",
	"max_turn_requests", "mcp/message", "mcpCapabilities", "mcpServers", "messageId",
	"methodId", "mimeType", "minItems", "minLength", "modelCalls", "model_call",
	"model_config", "nextCursor", "not_required", "openai-chat", "openai-responses",
	"opencode", "optionId", "organization", "out_of_memory", "outputByteLimit", "outputTokens", "override",
	"peakBytes", "plan_removed", "plan_update", "prevDigest", "priority", "promptCapabilities",
	"properties", "protocolVersion", "provider", "providerId", "providers",
	"providers/disable", "providers/list", "providers/set", "proxy/initialize",
	"proxy/successor", "rate_limit", "rawInput", "rawOutput", "readTextFile",
	"reasoningTokens", "recipientMessageId", "recipientSessionId", "reject_always",
	"reject_once", "rejected", "requestId", "requestedSchema", "required", "requires_action",
	"resource", "resource_link", "selected", "senderMessageId", "senderSessionId", "serverId",
	"session/archive", "session/cancel", "session/close", "session/delete", "session/fork",
	"session/list", "session/load", "session/new", "session/prompt",
	"session/request_permission", "session/resume", "session/set_config_option",
	"session/set_mode", "session/set_title", "session/status", "session/unarchive",
	"session/update", "sessionCapabilities", "sessionId", "sessionUpdate",
	"session_info_update", "session_message", "session_message_chunk", "sessions", "severity",
	"shutdown", "snapshot_failed", "stopReason", "subagent_update", "subagents", "supported",
	"switch_mode", "systemPrompt", "terminal", "terminal/create", "terminal/kill",
	"terminal/output", "terminal/release", "terminal/wait_for_exit", "terminalId",
	"text_repaired", "thoughtTokens", "thought_level", "toolCall", "toolCallId", "toolCalls", "tool_call",
	"tool_call_update", "tool_called", "tool_dry_run", "tools_delivered", "totalTokens", "traceparent",
	"truncated", "turn_end", "unauthenticated", "unsupported", "update_refused", "update_unknown", "updatedAt",
	"usage_update", "user_message_chunk", "whenBusy", "whenDetached", "withdrawn", "writeTextFile",
	/* clang-format on */
};

static int word_compare(const void *key, const void *word)
{
	const struct slice *text = key;
	const char *w = *(const char *const *)word;
	int d = strncmp(text->p, w, text->n);

	return d ? d : -(int)(w[text->n] != '\0');
}

bool word_of_protocol(struct slice text)
{
	return text.n && !memchr(text.p, 0, text.n) &&
	       bsearch(&text, words, ARRAY_SIZE(words), sizeof(*words), word_compare);
}
