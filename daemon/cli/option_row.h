/*
 * option_row.h - a row of the table of options (cli_options.c), for what reads, prints and explains them
 * (config_load.c).
 */
#pragma once

#include "cli/cli_options.h"

#include <stddef.h>

/* T_LIST joins values by commas. T_EACH joins them by newlines, because a value may hold commas.
 * T_KEEP is read by base/retention.h. */
enum option_type { T_STR, T_INT, T_BOOL, T_WORD, T_LIST, T_EACH, T_KEEP };

struct option_row {
	const char *name;
	enum option_type type;
	unsigned scope;
	size_t offset;
	int64_t min, max, num; /* T_INT: range and default; -1 is "auto" where that is a word */
	const char *def;       /* NULL: none, or computed (set_computed) */
	const char *words;     /* T_WORD: allowed values, separated by spaces */
	const char *arg, *help;
	char letter; /* short form or 0 */
};

extern const struct option_row option_rows[];
extern const size_t option_rows_n;
#define OPTION_ROWS_MAX 128

#define OPTION_ENV_SIZE 64
/* The variable that may set it; false: none may. */
bool option_env_name(const struct option_row *r, char ret[OPTION_ENV_SIZE]);

#define LEDGER (SCOPE_USAGE | SCOPE_VERIFY) /* scopes that read the usage ledger */
