/*
 * text_results.h - the built-in tools as a harness gets them: results as text for models, without structuredContent.
 *
 * Harnesses differ in what they show their model. Given both, Codex serialises structuredContent and leaves content
 * out, so that its model would see escaped JSON; OpenCode and Pi show content. No harness uses structuredContent for
 * anything that its model would not read better as text. So harnesses do not get it (nor an output schema, which would
 * oblige us to send it). Clients of /mcp and of `acpd mcp --builtin` are programs: they get both.
 *
 * They also differ in how much they show: Pi cuts out the middle of a text of more than 20 KiB, so it gets texts of
 * that size (a column of the registry).
 *
 * A backend in front of a session's gate: it sets _meta.acpd {textOnly, textMax} in tools/list and tools/call.
 */
#pragma once

#include "tools/mcp/backend.h"

/* inner is borrowed. text_max: bytes of text that the model is shown whole, 0: as many as tools give. */
struct mcp_backend *text_results_new(struct mcp_backend *inner, unsigned text_max);
