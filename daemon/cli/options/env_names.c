/*
 * env_names.c - finds variables ACPD_* that nothing reads, and the known name that is nearest to each.
 *
 * A misspelt setting is one that nobody misses until the daemon does what it was told not to. Known are the
 * variables of the options, of any subcommand, and the table `others`. A variable that is read outside of the option
 * table must be added there; otherwise serve warns of it and --check refuses it. A name that ends in '*' is a prefix
 * and is never suggested. Unknown names are cut and flattened to one line.
 */
#include "cli/options/cli_options.h"

#include "base/err.h"
#include "base/limits.h"
#include "base/format/near_name.h"

extern char **environ;

#define NAME_MAX_SHOWN (OPTION_ENV_SIZE - 1)

/* What acpd knows although it is no option. '*' at the end: any name that begins so. */
static const char *const others[] = {
	/* what children are given: a daemon may be started by one */
	"ACPD_OWNER",
	"ACPD_SESSION",
	"ACPD_LAST_MESSAGE",
	"ACPD_MCP_SOCKET",
	"ACPD_MCP_SERVER",
	"ACPD_MCP_KEY",
	"ACPD_PROVIDER_API",
	"ACPD_PROVIDER_BASE_URL",
	"ACPD_PROVIDER_MODEL",
	"ACPD_PROVIDER_KEY",
	"ACPD_PROVIDER_HEADER_*",
	"ACPD_PI_*",
	"ACPD_SYSTEM_APPEND",
	"ACPD_EDIT_DIRS",
	/* where the helpers are, if not beside acpd */
	"ACPD_UNPACK",
	"ACPD_FETCH",
	"ACPD_PROXY",
	"ACPD_INIT",
	/* from one program to the next (cli/serve/serve.h) */
	"ACPD_HANDOVER",
	/* what inflates archives (unpack/README.md) */
	"ACPD_INFLATE",
	/* of the tests */
	"ACPD_TEST_*",
	"ACPD_SOAK_*",
	"ACPD_STUB",
	"ACPD_WRAP",
	"ACPD_JOBS",
	"ACPD_TRIXIE",
	"ACPD_NODE_MODULES",
};

/* Name i of all that are known; NULL: there are no more. "": this one has none. */
static const char *known_name(size_t i, char ret[OPTION_ENV_SIZE])
{
	if (i < ARRAY_SIZE(others))
		return others[i];
	i -= ARRAY_SIZE(others);
	if (i >= option_rows_n)
		return NULL;
	return option_env_name(&option_rows[i], ret) ? ret : "";
}

static bool is_known_variable(const char *name)
{
	char room[OPTION_ENV_SIZE];
	const char *known;

	for (size_t i = 0; (known = known_name(i, room)); i++) {
		size_t n = strlen(known);

		if (n && known[n - 1] == '*' ? strncmp(name, known, n - 1) == 0 :
					       strcmp(name, known) == 0)
			return true;
	}
	return false;
}

static void find_nearest(const char *name, char ret[OPTION_ENV_SIZE])
{
	char room[OPTION_ENV_SIZE];
	unsigned best = UINT32_MAX;
	const char *known;

	*ret = '\0';
	for (size_t i = 0; (known = known_name(i, room)); i++) {
		unsigned d = *known && !strchr(known, '*') ? near_name_distance(name, known) :
							     UINT32_MAX;

		if (d >= best)
			continue;
		best = d;
		snprintf(ret, OPTION_ENV_SIZE, "%s", known);
	}
}

void env_names_unknown(void (*fn)(void *ctx, const char *name, const char *nearest), void *ctx)
{
	unsigned told = 0;

	for (char **e = environ; *e && told < ENV_NAMES_UNKNOWN_MAX; e++) {
		size_t n = strcspn(*e, "=");
		_cleanup_(freep) char *name = NULL;
		char nearest[OPTION_ENV_SIZE];

		if (strncmp(*e, "ACPD_", 5) != 0)
			continue;
		name = xstrndup(*e, MIN(n, NAME_MAX_SHOWN));
		if (n <= NAME_MAX_SHOWN && is_known_variable(name))
			continue;
		err_flatten(name);
		find_nearest(name, nearest);
		fn(ctx, name, nearest);
		told++;
	}
}
