/*
 * config_load.c - options from defaults, environment and argv, and what is printed of them.
 *
 * The sources are applied in this order, each over the one before: defaults of the rows, variables ACPD_*, argv,
 * and at last the defaults that depend on user and environment, for members that are still unset. getopt_long
 * finds options and their values; the names are checked before, because it would accept abbreviations. Every value
 * takes the same way (option_set), wherever it is from: also that of a claim.
 */
#include "cli/options/cli_options.h"

#include "base/limits.h"
#include "base/format/near_name.h"
#include "base/os/file.h"

#include <ctype.h>
#include <getopt.h>
#include <limits.h>

void *option_slot(const struct config *c, const struct option_row *r)
{
	return (char *)c + r->offset;
}

static int bad_value(const struct option_row *r, const char *value, struct err *e)
{
	if (r->type == T_INT)
		return err_field(e, r->name, "OPTION_INVALID",
				 "--%s: '%s' is not a number from %lld to %lld%s%s", r->name, value,
				 (long long)r->min, (long long)r->max, r->words ? " or " : "",
				 r->words ? r->words : "");
	if (r->type == T_KEEP)
		return err_field(
			e, r->name, "OPTION_INVALID",
			"--%s: '%s' is not %s: an age like 12h or 7d, a size like 500m or 2g",
			r->name, value, r->arg);
	return err_field(e, r->name, "OPTION_INVALID", "--%s: '%s' is not one of: %s", r->name,
			 value, r->type == T_BOOL ? "true false" : r->words);
}

int option_word_place(const char *words, const char *word)
{
	struct slice list = slice_of(words), item;

	for (int place = 0; slice_item(&list, ' ', &item); place++)
		if (item.n && slice_is(item, word))
			return place;
	return -1;
}

/* Appends the path that an item of the value is, made absolute; NAME= before it stays. */
static int option_add_path(const struct option_row *r, const char *item, size_t n, struct buf *ret,
			   struct err *e)
{
	const char *equals = strchr(r->arg, '=') ? memchr(item, '=', n) : NULL;
	size_t name = equals ? (size_t)(equals - item) + 1 : 0, start;
	_cleanup_(freep) char *here = NULL;

	buf_add(ret, item, name);
	start = ret->len;
	if (n > name && item[name] != '/') {
		/* The daemon and its helpers change their directory: from here on a path is absolute. */
		here = getcwd(NULL, 0);
		if (!here || *here != '/') /* a directory that was removed or unmounted */
			return err_field(e, r->name, "OPTION_INVALID",
					 "--%s: cannot make '%.*s' absolute: %s", r->name,
					 (int)MIN(n, 100), item, strerror(errno));
		buf_printf(ret, "%s/", strcmp(here, "/") == 0 ? "" : here);
	}
	buf_add(ret, item + name, n - name);
	if (ret->len - start > OPTION_PATH_MAX)
		return err_field(e, r->name, "OPTION_INVALID",
				 "--%s: a path of %zu bytes is too long; at most %d are possible",
				 r->name, ret->len - start, OPTION_PATH_MAX);
	return 0;
}

/* The daemon and its helpers have working directories of their own, and a service is started in any. */
static int set_paths(struct config *c, const struct option_row *r, const char *value, struct err *e)
{
	_cleanup_(buf_done) struct buf paths = { 0 };
	const char *between = r->type == T_LIST ? "," : r->type == T_EACH ? "\n" : "";
	size_t n;

	if (!*value && r->type == T_STR)
		return err_field(e, r->name, "OPTION_INVALID", "--%s: the path is empty", r->name);
	for (const char *item = value;; item += n + 1) {
		n = strcspn(item, between);
		if (option_add_path(r, item, n, &paths, e) < 0)
			return -EINVAL;
		if (!item[n])
			break;
		buf_add(&paths, item + n, 1);
	}
	buf_add(&paths, "", 1);
	xstrset(option_slot(c, r), paths.data);
	return 0;
}

int option_set(struct config *c, const struct option_row *r, const char *value, struct err *e)
{
	long long n;
	char *end;

	if (r->path)
		return set_paths(c, r, value, e);
	switch (r->type) {
	case T_WORD:
		/* A word is stored as the text; the parts that use it map it to their enums. */
		if (option_word_place(r->words, value) < 0)
			return bad_value(r, value, e);
		/* fall through */
	case T_STR:
	case T_LIST:
	case T_EACH:
		xstrset(option_slot(c, r), value);
		return 0;
	case T_BOOL:
		if (option_word_place("true false 1 0", value) < 0)
			return bad_value(r, value, e);
		*(bool *)option_slot(c, r) = value[0] == 't' || value[0] == '1';
		return 0;
	case T_INT:
		if (r->words && strcmp(value, r->words) == 0) {
			*(int64_t *)option_slot(c, r) = -1;
			return 0;
		}
		errno = 0;
		n = strtoll(value, &end, 10);
		if (errno || *end || !*value || n < r->min || n > r->max)
			return bad_value(r, value, e);
		*(int64_t *)option_slot(c, r) = n;
		return 0;
	case T_KEEP:
		return retention_parse(value, option_slot(c, r)) < 0 ? bad_value(r, value, e) : 0;
	}
	return -EINVAL;
}

/* An action (check, print-config, help) is not a setting, so it has no variable. Neither has the choice
 * of records to read: ACPD_SESSION means something else. */
static bool has_env(const struct option_row *r)
{
	if (!(r->scope & ~(LEDGER | SCOPE_GET | SCOPE_EXTRACT | SCOPE_VALIDATE | SCOPE_MCP |
			   SCOPE_TRY | SCOPE_ENTRY | SCOPE_CLAIM | SCOPE_TOKENS)))
		return false;
	return r->type != T_BOOL ||
	       option_word_place("allow-query-token claim-e2b destroy-sockets unlocked-keys",
				 r->name) >= 0;
}

bool option_env_name(const struct option_row *r, char ret[OPTION_ENV_SIZE])
{
	snprintf(ret, OPTION_ENV_SIZE, "ACPD_%s", r->name);
	for (char *p = ret + 5; *p; p++)
		*p = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
	return has_env(r);
}

static void default_dir(char **field, const char *root_path, const char *xdg_env,
			const char *home_sub)
{
	const char *xdg = getenv(xdg_env), *home = getenv("HOME");

	/* Set by an option or its variable. */
	if (*field)
		return;
	if (geteuid() == 0)
		*field = xstrdup(root_path);
	else if (xdg && *xdg == '/') /* a relative one is invalid, says the XDG specification */
		*field = file_join(xdg, "acpd");
	else if (home && *home == '/' && home_sub)
		*field = file_join(home, home_sub);
}

/* Defaults that depend on our uid and environment. The run directory is /run/acpd,
 * $XDG_RUNTIME_DIR/acpd or <state>/run. */
static void set_computed(struct config *c)
{
	char cwd[PATH_MAX];

	default_dir(&c->state, "/var/lib/acpd", "XDG_STATE_HOME", ".local/state/acpd");
	default_dir(&c->run_dir, "/run/acpd", "XDG_RUNTIME_DIR", NULL);
	if (!c->run_dir && c->state)
		c->run_dir = file_join(c->state, "run");
	if (!c->socket && c->run_dir)
		c->socket = file_join(c->run_dir, "acp.sock");
	if (!c->cwd && getcwd(cwd, sizeof(cwd)))
		c->cwd = xstrdup(cwd);
}

static int load_defaults(struct config *c, unsigned scope, struct err *e)
{
	char name[OPTION_ENV_SIZE];
	int r = 0;

	for (size_t i = 0; i < option_rows_n && r == 0; i++)
		if (option_rows[i].type == T_INT)
			*(int64_t *)option_slot(c, &option_rows[i]) = option_rows[i].num;
		else if (option_rows[i].def)
			r = option_set(c, &option_rows[i], option_rows[i].def, e);
	/* A second pass: two rows may share a member, and a variable of one must not be lost to the default of the other. */
	for (size_t i = 0; i < option_rows_n && r == 0; i++) {
		const char *v = option_env_name(&option_rows[i], name) &&
						(option_rows[i].scope & scope) ?
					getenv(name) :
					NULL;

		if (v && *v)
			r = option_set(c, &option_rows[i], v, e);
	}
	return r;
}

/* With the nearest option of the command, if one is near. */
static int no_such_option(unsigned scope, const char *arg, size_t n, struct err *e)
{
	_cleanup_(freep) char *name = xstrndup(arg + 2, MIN(n - 2, OPTION_ENV_SIZE));
	/* A third of the letters may differ; beyond that a suggestion misleads. */
	unsigned best = (unsigned)strlen(name) / 3;
	const char *near = NULL;

	for (size_t i = 0; i < option_rows_n; i++) {
		unsigned d = option_rows[i].scope & scope ?
				     near_name_distance(name, option_rows[i].name) :
				     UINT32_MAX;

		if (d > best || (near && d == best))
			continue;
		best = d;
		near = option_rows[i].name;
	}
	return err_field(e, arg, "OPTION_UNKNOWN", "%.*s: no such option%s%s%s", (int)n, arg,
			 near ? "; did you mean --" : "", near ? near : "", near ? "?" : "");
}

const struct option_row *option_find(unsigned scope, const char *name, size_t n)
{
	for (size_t i = 0; i < option_rows_n; i++)
		if ((option_rows[i].scope & scope) && strlen(option_rows[i].name) == n &&
		    strncmp(option_rows[i].name, name, n) == 0)
			return &option_rows[i];
	return NULL;
}

/* getopt_long accepts any unambiguous prefix, but "--token SECRET" must not become --token-file. */
static int options_check_names(unsigned scope, int argc, char **argv, struct err *e)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const struct option_row *row;
		size_t n = strcspn(argv[i], "=");

		if (strncmp(argv[i], "--", 2) != 0)
			continue;
		row = option_find(scope, argv[i] + 2, n - 2);
		if (!row)
			return no_such_option(scope, argv[i], n, e);
		if (!argv[i][n] && row->type != T_BOOL)
			i++; /* its value */
	}
	return 0;
}

/* A list option may be repeated: the values are joined. */
static int add_value(struct config *c, const struct option_row *row, bool again, const char *value,
		     struct err *e)
{
	_cleanup_(freep) char *joined = NULL;
	char **have = option_slot(c, row);

	/* The first value replaces the default and the variable; only those of argv add up. */
	if ((row->type != T_LIST && row->type != T_EACH) || !again)
		return option_set(c, row, row->type == T_BOOL ? "true" : value, e);
	joined = xprintf("%s%c%s", *have, row->type == T_LIST ? ',' : '\n', value);
	return option_set(c, row, joined, e);
}

static int parse_argv(struct config *c, unsigned scope, int argc, char **argv, struct err *e)
{
	struct option longs[OPTION_ROWS_MAX + 1] = { { 0 } }, *l = longs;
	char shorts[2 * OPTION_ROWS_MAX + 2] = ":", *s = shorts + 1;
	bool seen[OPTION_ROWS_MAX] = { false };
	int ch, r = 0;

	for (size_t i = 0; i < option_rows_n; i++) {
		bool takes_value = option_rows[i].type != T_BOOL;

		if (!(option_rows[i].scope & scope))
			continue;
		*l++ = (struct option){ option_rows[i].name, takes_value, NULL, 256 + (int)i };
		if (option_rows[i].letter)
			*s++ = option_rows[i].letter;
		if (option_rows[i].letter && takes_value)
			*s++ = ':';
	}
	/* 0, not 1: glibc then forgets the scan of a previous call. entrypoint loads two configurations. */
	optind = 0;
	opterr = 0;
	while (r == 0 && (ch = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const struct option_row *row = ch >= 256 ? &option_rows[ch - 256] : NULL;

		for (size_t i = 0; !row && i < option_rows_n; i++)
			if (option_rows[i].letter == ch && (option_rows[i].scope & scope))
				row = &option_rows[i];
		/* argv[optind - 1] is the option, if its value is missing or not allowed. */
		if (!row)
			return err_field(e, argv[optind - 1], "OPTION_UNKNOWN", "%s: %s",
					 argv[optind - 1],
					 ch == ':' ? "needs a value" : "no such option");
		r = add_value(c, row, seen[row - option_rows], optarg, e);
		seen[row - option_rows] = true;
	}
	c->args = argv + optind;
	c->nargs = argc - optind;
	return r;
}

bool option_is_text(const struct option_row *r)
{
	return r->type != T_INT && r->type != T_BOOL && r->type != T_KEEP;
}

int config_load(struct config *c, unsigned scope, int argc, char **argv, struct err *e)
{
	int r;

	memset(c, 0, sizeof(*c));
	r = load_defaults(c, scope, e);
	if (r == 0)
		r = options_check_names(scope, argc, argv, e);
	if (r == 0)
		r = parse_argv(c, scope, argc, argv, e);
	if (r == 0)
		set_computed(c);
	/* After an error the caller owns nothing. */
	else
		config_done(c);
	return r;
}

void config_done(struct config *c)
{
	for (size_t i = 0; i < option_rows_n; i++)
		if (option_is_text(&option_rows[i])) {
			char **s = option_slot(c, &option_rows[i]);

			free(TAKE_PTR(*s));
		}
}

#define NUMBER_TEXT_MAX 24

/* As it may be given. */
static const char *number_text(const struct option_row *r, int64_t n, char *ret)
{
	if (n == -1 && r->words)
		return r->words;
	snprintf(ret, NUMBER_TEXT_MAX, "%lld", (long long)n);
	return ret;
}

void config_print(const struct config *c, unsigned scope)
{
	char keep[RETENTION_TEXT_MAX], number[NUMBER_TEXT_MAX];

	for (size_t i = 0; i < option_rows_n; i++) {
		const struct option_row *r = &option_rows[i];

		/* What has no variable is an action, not a setting. */
		if (!(r->scope & scope) || !has_env(r))
			continue;
		if (r->type == T_INT)
			printf("%s = %s\n", r->name,
			       number_text(r, *(int64_t *)option_slot(c, r), number));
		else if (r->type == T_BOOL)
			printf("%s = %s\n", r->name, *(bool *)option_slot(c, r) ? "true" : "false");
		else if (r->type == T_KEEP)
			printf("%s = %s\n", r->name, retention_text(option_slot(c, r), keep));
		else
			printf("%s = %s\n", r->name,
			       *(char **)option_slot(c, r) ? *(char **)option_slot(c, r) : "");
	}
}

void config_usage(unsigned scope)
{
	char left[64], name[OPTION_ENV_SIZE], number[NUMBER_TEXT_MAX];

	for (size_t i = 0; i < option_rows_n; i++) {
		const struct option_row *r = &option_rows[i];

		if (!(r->scope & scope))
			continue;
		snprintf(left, sizeof(left), "--%s%s%s", r->name, r->arg ? " " : "",
			 r->arg ? r->arg : "");
		printf("  %-28s %s", left, r->help);
		if (r->type == T_INT)
			printf(" (%s)", number_text(r, r->num, number));
		else if (r->def && r->type != T_BOOL)
			printf(" (%s)", r->def);
		if (option_env_name(r, name))
			printf(" [%s]", name);
		printf("\n");
	}
}
