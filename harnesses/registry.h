/*
 * registry.h - the harnesses that can be chosen. The built-in rows are in registry.c; a manifest (--harness-config)
 * adds stdio ACP agents or overrides command, args and env of a built-in one:
 *
 *	{"harnesses":[{"id":"stub","command":"/opt/stub","args":["--acp"],"env":{"K":"v"},
 *	  "title":"Stub","capabilities":{"promptCapabilities":{"image":true}},"authMethods":[{"id":"key","name":"Key"}]}]}
 *
 * capabilities (as in ACP's agentCapabilities) are what initialize may promise before a child exists; absent means
 * the baseline. A fault in the manifest (harness_config.c), an unknown member included, names line, entry and member,
 * and the daemon does not start.
 */
#pragma once

#include "base/buf.h"
#include "harnesses/harness.h"

struct harness_table {
	struct harness_def *defs;
	size_t n;
	size_t first_manifest; /* index of the harness that the manifest names first; n if there is none */
};

/* path NULL: built-in rows only. */
int harness_table_load(struct harness_table *t, const char *path, struct err *e);
void harness_table_done(struct harness_table *t);
const struct harness_def *harness_table_find(const struct harness_table *t, const char *id);
/* harness_config.c: adds the entries of a manifest's text to the table; its line breaks are removed. Errors have the line, and
 * name the entry and its member. */
int manifest_load(struct harness_table *t, struct buf *text, struct err *e);
/* An empty row. */
struct harness_def *harness_table_add(struct harness_table *t);
/* The row of that name in acp/quirks.c; NULL: there is none. */
const struct acp_quirks *harness_quirks_find(const char *name);
/* The row has what differs between agents that share an adapter. NULL: nothing. */
void harness_use_quirks(struct harness_def *d, const struct acp_quirks *q);
/* Parses agentCapabilities; unknown or malformed members count as absent. */
void harness_caps_parse(struct slice agent_capabilities, struct harness_caps *ret);
