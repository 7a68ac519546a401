/*
 * text_results.h - the built-in tools as a harness is given them: results as text for models, without
 * structuredContent.
 *
 * What a harness shows its model is not the same everywhere: given both, Codex serialises structuredContent and
 * leaves content out, so that its model would see escaped JSON; OpenCode and Pi show content. No harness does
 * anything with structuredContent that its model would not read better as text, so none is given it (nor an output
 * schema, which would oblige us to send it). Clients of /mcp and of `acpd mcp --builtin` are programs: they get both.
 *
 * Nor is it the same how much: Pi cuts out the middle of a text of more than 20 KiB, so it is given texts of that
 * size (a column of the registry).
 *
 * A backend in front of a session's gate: it says so in _meta.acpd {textOnly, textMax} of tools/list and tools/call.
 */
#pragma once

#include "tools/mcp/backend.h"

/* inner is borrowed. text_max: bytes of text that the model is shown whole, 0: as many as tools give. */
struct mcp_backend *text_results_new(struct mcp_backend *inner, unsigned text_max);
