/*
 * cmd_tokens.c - "acpd tokens mint", "list" and "revoke": over the control socket, so that no other token is
 * needed. A minted token is printed once, to standard output alone, and wiped from memory; the daemon keeps only
 * its SHA-256.
 */
#include "cli/cmd.h"
#include "cli/control/reach_daemon.h"

#include "base/clock.h"
#include "json/jenc.h"

/* --- mint ------------------------------------------------------------------------------------------------ */

/* "90m", "12h", "7d" from now on; anything else is the daemon's to judge. */
static const char *expiry(const char *text, char out[CLOCK_ISO_SIZE])
{
	static const struct {
		char unit;
		uint64_t ms;
	} units[] = { { 'm', 60000 }, { 'h', 3600000 }, { 'd', 86400000 } };
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (*end == units[i].unit && !end[1] && end > text && end - text < 7 &&
		    *text >= '0' && *text <= '9')
			return clock_iso(clock_real_ms() + n * units[i].ms, out);
	return text;
}

static void put_sessions(struct jw *w, const char *ids)
{
	if (!ids)
		return;
	jw_arr(w, "sessions");
	for (const char *id = ids; *id; id += strcspn(id, "\n"), id += *id == '\n')
		jw_slice(w, NULL, (struct slice){ id, strcspn(id, "\n") });
	jw_end_arr(w);
}

static void put_order(const struct config *c, struct buf *params)
{
	struct jw w = JW(params);
	char when[CLOCK_ISO_SIZE];

	jw_obj(&w, NULL);
	jw_str(&w, "scope", c->token_scope);
	put_sessions(&w, c->token_sessions);
	jw_str(&w, "expiresAt", expiry(c->expires, when));
	jw_str(&w, "label", c->label);
	jw_end_obj(&w);
}

/* The token alone, so that it can be put into a file. */
int cmd_tokens_mint(const struct config *c)
{
	_cleanup_(secret_buf_done) struct buf params = { 0 }, result = { 0 };
	_cleanup_(freep) char *token = NULL;
	int r;

	if (!c->token_scope || !c->label)
		return fail(EXIT_USAGE, "--%s is needed", c->token_scope ? "label" : "scope");
	put_order(c, &params);
	r = control_ask(c, "tokens/mint", buf_slice(&params), &result);
	if (r != EXIT_DONE)
		return r;
	token = cli_string_of(buf_slice(&result), "token");
	if (c->json)
		print_pretty(buf_slice(&result));
	else
		printf("%s\n", token);
	secret_text_wipe(token);
	return EXIT_DONE;
}

/* --- list and revoke --------------------------------------------------------------------------------------- */

static void print_sessions(struct slice token)
{
	const char *between = "  ";

	jarr_each(v, jobj_get(token, "sessions")) {
		printf("%s%.*s", between, (int)v.raw.n - 2, v.raw.p + 1);
		between = ",";
	}
}

static void print_token(struct slice t)
{
	_cleanup_(freep) char *id = cli_string_of(t, "id"), *scope = cli_string_of(t, "scope"),
			      *expires = cli_string_of(t, "expiresAt"),
			      *label = cli_string_of(t, "label");
	struct slice open = jobj_get(t, "connections").raw;

	printf("%-20s %-8s %s %4.*s  %s", id, scope, expires, (int)open.n, open.p, label);
	print_sessions(t);
	putchar('\n');
}

int cmd_tokens_list(const struct config *c)
{
	_cleanup_(buf_done) struct buf result = { 0 };
	int r = control_ask(c, "tokens/list", SLICE("{}"), &result);

	if (r == EXIT_DONE)
		control_print_list(c, buf_slice(&result), "tokens", print_token);
	return r;
}

int cmd_tokens_revoke(const struct config *c)
{
	_cleanup_(buf_done) struct buf params = { 0 }, result = { 0 };
	struct jw w = JW(&params);

	jw_object(&w, NULL, JW_STR("id", c->args[0]));
	return control_ask(c, "tokens/revoke", buf_slice(&params), &result);
}
