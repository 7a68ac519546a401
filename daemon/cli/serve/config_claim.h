/*
 * config_claim.h - the options of `acpd serve` that the one may bring who claims the daemon, so that a template needs no
 * environment. The rows of the table that say so (option_row.h), checked by the code that checks argv. All of them are
 * taken or none: a copy of the configuration is changed, and becomes the configuration once nothing can fail any more.
 */
#pragma once

#include "cli/options/cli_options.h"

#include "base/slice.h"

/* config_done frees it. */
void config_copy(struct config *to, const struct config *from);
/* settings: a raw JSON object {NAME: string, number or boolean}, or empty. 0, or -EINVAL with e naming
 * "settings.NAME": SETTING_UNKNOWN, SETTING_NOT_CLAIMABLE, SETTING_WEAKER, OPTION_INVALID. c may be half changed then.
 */
int config_claim(struct config *c, struct slice settings, struct err *e);
