/*
 * plain.h - the built-in tools as a harness is given them: results as text for models, without structuredContent.
 *
 * What a harness shows its model is not the same everywhere: given both, Codex serialises structuredContent and leaves content out, so
 * that its model would see escaped JSON; OpenCode and Pi show content. No harness does anything with structuredContent that its model
 * would not read better as text, so none is given it (nor an output schema, which would oblige us to send it). Clients of /mcp and of
 * `acpd mcp --builtin` are programs: they get both.
 *
 * A backend in front of a session's gate: it says in _meta.acpd.textOnly of tools/list and tools/call which it is.
 */
#pragma once

#include "tools/mcp/backend.h"

/* inner is borrowed. */
struct mcp_backend *plain_new(struct mcp_backend *inner);
