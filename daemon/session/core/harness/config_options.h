/*
 * config_options.h - a harness's configOptions (raw ACP SessionConfigOption arrays): what can be chosen, and what the
 * older parts of ACP that say the same in other words (modes, models) are derived from. Pure functions; source: ACP v1
 * schema.
 */
#pragma once

#include "base/err.h"
#include "json/jenc.h"

/* The first select option of that category ("model", "mode", ...); empty if there is none. Borrowed from config. */
struct slice option_of_category(struct slice config, const char *category);
/* The option's value that is meant by name: the same, or the only one that ends in "/name" (harnesses put their
 * provider before a model's id). NULL if there is none; caller frees. */
char *option_find_value(struct slice option, const char *name);
/* The raw JSON string that is chosen now; empty if the option does not say. */
struct slice option_current(struct slice option);
/* Array of all values, groups flattened. */
void option_put_values(struct slice option, struct jw *w, const char *key);
/* params {configId, value} of session/set_config_option against the options; e names the field. ret_option (may be
 * NULL): the option that was meant, also if only the value is wrong. */
int options_check(struct slice config, struct slice params, struct slice *ret_option,
		  struct err *e);
/* SessionModeState made of the option of category "mode"; false if there is none. */
bool options_put_modes(struct slice config, struct jw *w);
