/* harness_config.h - the entries of --harness-config into the table. For registry.c alone. */
#pragma once

#include "harnesses/registry.h"

struct acp_quirks;

/* text: of the file; its line breaks go. Errors say the line, and name the entry and its member. */
int manifest_load(struct harness_table *t, struct buf *text, struct err *e);

/* registry.c: an empty row. */
struct harness_def *harness_table_add(struct harness_table *t);
/* What differs between agents that share an adapter stands in their row. NULL: nothing. */
void harness_use_quirks(struct harness_def *d, const struct acp_quirks *q);
