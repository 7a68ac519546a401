/* harness_config.h - adds the entries of --harness-config to the table. Only for registry.c. */
#pragma once

#include "harnesses/registry.h"

struct acp_quirks;

/* text: of the file; its line breaks are removed. Errors have the line, and name the entry and its member. */
int manifest_load(struct harness_table *t, struct buf *text, struct err *e);

/* registry.c: an empty row. */
struct harness_def *harness_table_add(struct harness_table *t);
/* The row has what differs between agents that share an adapter. NULL: nothing. */
void harness_use_quirks(struct harness_def *d, const struct acp_quirks *q);
