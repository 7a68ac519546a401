/*
 * tag_backend.h - backends that say in _meta.acpd of every call for whom it is made.
 *
 * A backend may stand for a session in front of a server that several sessions share (upstream_server.h): so questions
 * and log messages of a legacy server do not reach another session.
 *
 * Another stands in front of a session's gate, for a harness. A harness gets results of the built-in tools as text for
 * models, without structuredContent. Harnesses differ in what they show their model. Given both, Codex serialises
 * structuredContent and leaves content out, so that its model would see escaped JSON; OpenCode and Pi show content. No
 * harness uses structuredContent for anything that its model would not read better as text. So harnesses do not get it
 * (nor an output schema, which would oblige us to send it). Clients of /mcp and of `acpd mcp --builtin` are programs:
 * they get both. Harnesses also differ in how much they show: Pi cuts out the middle of a text of more than 20 KiB, so
 * it gets texts of that size (a column of the registry).
 *
 * inner must outlive them; freeing them frees only themselves. Calls belong to inner, and are cancelled there.
 */
#pragma once

#include "tools/mcp/backend.h"

/* {session} in every call. It replaces what the caller itself wrote there. */
struct mcp_backend *caller_tag_new(struct mcp_backend *inner, const char *session);
/* {textOnly, textMax} in tools/list and tools/call, and nothing else. text_max: bytes of text that the model is shown
 * whole, 0: as many as tools give. */
struct mcp_backend *text_results_new(struct mcp_backend *inner, unsigned text_max);
