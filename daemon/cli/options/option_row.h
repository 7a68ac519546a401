/*
 * option_row.h - a row of the table of options (cli_options.c), for what reads, prints and explains them
 * (config_load.c).
 */
#pragma once

#include "cli/options/cli_options.h"

#include <stddef.h>

/* T_LIST joins values by commas. T_EACH joins them by newlines, because a value may hold commas.
 * T_KEEP is read by base/format/retention.h. */
enum option_type { T_STR, T_INT, T_BOOL, T_WORD, T_LIST, T_EACH, T_KEEP };

/* Whether a claim may bring it (config_claim.h). A word may be fixed by an image: then only a stricter one is taken. */
enum option_claim {
	CLAIM_NEVER,
	CLAIM_ANY,
	CLAIM_LATER_WORD, /* none that stands before it in the words */
	CLAIM_EARLIER_WORD,
};

struct option_row {
	const char *name;
	enum option_type type;
	unsigned scope;
	size_t offset;
	int64_t min, max, num; /* T_INT: range and default; -1 is "auto" where that is a word */
	const char *def;       /* NULL: none, or computed (set_computed) */
	const char *words;     /* T_WORD: allowed values, separated by spaces */
	const char *arg, *help;
	bool path; /* the value, or each item of a list, is a path, after NAME= where arg says so */
	char letter; /* short form or 0 */
	enum option_claim claim;
};

extern const struct option_row option_rows[];
extern const size_t option_rows_n;
#define OPTION_ROWS_MAX 128

#define OPTION_ENV_SIZE 64
/* The variable that may set it; false: none may. */
bool option_env_name(const struct option_row *r, char ret[OPTION_ENV_SIZE]);

/* The member of c. */
void *option_slot(const struct config *c, const struct option_row *r);
/* As argv gives it: 0, or -EINVAL with e. */
int option_set(struct config *c, const struct option_row *r, const char *value, struct err *e);
/* It owns a string in struct config. */
bool option_is_text(const struct option_row *r);

#define LEDGER (SCOPE_USAGE | SCOPE_VERIFY) /* scopes that read the usage ledger */
