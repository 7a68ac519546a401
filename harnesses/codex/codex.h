/*
 * codex.h - Codex through its own app-server protocol: `codex app-server`, JSON-RPC lines on stdio (measured on
 * 0.171.0).
 *
 * One process and one thread of Codex for each session, in a private CODEX_HOME. Configuration goes by -c on the
 * command line, secrets in the environment, MCP servers in thread/start; nothing is read from files we would have to
 * rewrite. README.md has the mapping of the protocol, and what is dropped.
 */
#pragma once

#include "harnesses/harness.h"

extern const struct harness_ops harness_codex;
