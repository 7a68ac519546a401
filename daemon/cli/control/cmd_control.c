/*
 * cmd_control.c - commands that speak to the control socket: claim, restart, sessions. Only the daemon's user and root reach
 * it, so no token is needed. A restart is another program in the daemon's place; its command waits until that serves.
 */
#include "cli/cmd.h"
#include "cli/control/reach_daemon.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/os/file.h"
#include "digest/digest.h"
#include "json/jenc.h"
#include "net/claim/admission.h"

#define COMES_BACK_SECS 60 /* beyond the time of draining */
#define ASK_EACH_US 50000

/* --- claim ---------------------------------------------------------------------------------------------- */

static int claim_put_digest(struct jw *w, struct slice token, struct err *e)
{
	char text[7 + SHA256_HEX] = "sha256:";
	struct sha256 d;

	if (slice_starts(token, "sha256:")) {
		if (sha256_from_hex((struct slice){ token.p + 7, token.n - 7 }, &d) < 0)
			return err_set(e, -EINVAL, 0, "TOKEN_INVALID",
				       "sha256: needs 64 hex digits");
	} else if (token.n < TOKEN_MIN || token.n > TOKEN_MAX) {
		return err_set(e, -EINVAL, 0, "TOKEN_INVALID", "a token has %d to %d characters",
			       TOKEN_MIN, TOKEN_MAX);
	} else if (sha256_of(token, &d) < 0) {
		return err_set(e, -EIO, 0, "TOKEN_INVALID", "the token could not be hashed");
	}
	sha256_hex(&d, text + 7);
	jw_str(w, "digest", text);
	return 0;
}

/* set: a NAME=VALUE on each line. The daemon knows which there are. */
static int claim_put_settings(struct jw *w, const char *set, struct err *e)
{
	if (!set)
		return 0;
	jw_obj(w, "settings");
	for (const char *line = set; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		size_t n = strcspn(line, "=\n");
		_cleanup_(freep) char *name = xstrndup(line, n), *value = NULL;

		if (line[n] != '=' || !n)
			return err_field(e, "set", "OPTION_INVALID",
					 "--set: '%s' is not NAME=VALUE", name);
		value = xstrndup(line + n + 1, strcspn(line + n + 1, "\n"));
		jw_str(w, name, value);
	}
	jw_end_obj(w);
	return 0;
}

/* A file that is wrong is refused by the daemon, which names the member. */
static int claim_put_webhooks(struct jw *w, const char *path, struct err *e)
{
	_cleanup_(secret_buf_done) struct buf text = { 0 };
	struct jval v;
	int r;

	if (!path)
		return 0;
	r = file_read(path, WEBHOOK_FILE_MAX, &text);
	if (r < 0)
		return err_field(e, "webhook", "OPTION_INVALID", "--webhook: %s: %s", path,
				 strerror(-r));
	if (jscan_value(buf_slice(&text), &v) != JSCAN_OK || v.type != J_ARRAY)
		return err_field(e, "webhook", "OPTION_INVALID", "--webhook: %s: no JSON array",
				 path);
	jw_raw(w, "webhooks", v.raw);
	return 0;
}

static int put_claim(const struct config *c, struct slice token, struct buf *params, struct err *e)
{
	struct jw w = JW(params);
	int r;

	jw_obj(&w, NULL);
	r = claim_put_digest(&w, token, e);
	if (r == 0)
		r = claim_put_settings(&w, c->set, e);
	if (r == 0)
		r = claim_put_webhooks(&w, c->webhook, e);
	if (c->sandbox_id)
		jw_str(&w, "sandboxId", c->sandbox_id);
	if (c->replace)
		jw_bool(&w, "replace", true);
	if (c->keep_tokens)
		jw_bool(&w, "keepTokens", true);
	jw_end_obj(&w);
	/* A request on the control socket is one line, and the file of webhooks may have several. */
	jscan_join_lines(params);
	return r;
}

/* Returns the file with the token, or NULL for standard input. In an image the environment names the daemon's own token
 * file, which does not exist in a sandbox that is claimed. */
static const char *claim_file(const struct config *c)
{
	const char *own = getenv("ACPD_TOKEN_FILE");

	if (own && c->token_file && strcmp(own, c->token_file) == 0 && access(own, F_OK) < 0 &&
	    errno == ENOENT)
		return NULL;
	return c->token_file;
}

/* Only the digest leaves this process, and the token was never in argv. */
int cmd_claim(const struct config *c)
{
	_cleanup_(secret_buf_done) struct buf token = { 0 };
	_cleanup_(buf_done) struct buf params = { 0 }, result = { 0 };
	struct err e;
	int r = read_token(claim_file(c), &token, &e);

	if (r == 0)
		r = put_claim(c, buf_slice(&token), &params, &e);
	if (r < 0)
		return fail(EXIT_USAGE, "%s", e.msg);
	return control_ask(c, "claim", buf_slice(&params), &result);
}

/* --- restart -------------------------------------------------------------------------------------------- */

/* Who does not answer is on the way from one program to the other. */
static bool is_back(const struct config *c, uint64_t before)
{
	_cleanup_(buf_done) struct buf result = { 0 };
	struct err e;

	return control_call(c, "doctor", SLICE("{}"), &result, &e) == 0 &&
	       (uint64_t)cli_number_of(buf_slice(&result), "restarts") > before;
}

static int wait_for_restart(const struct config *c, uint64_t before, uint64_t secs)
{
	uint64_t until = clock_mono_ms() + (secs + COMES_BACK_SECS) * 1000;

	while (!is_back(c, before)) {
		if (clock_mono_ms() > until)
			return fail(EXIT_FAILED,
				    "the daemon does not answer after its restart: see its log");
		usleep(ASK_EACH_US);
	}
	return EXIT_DONE;
}

int cmd_restart(const struct config *c)
{
	_cleanup_(buf_done) struct buf params = { 0 }, result = { 0 };
	struct jw w = JW(&params);
	int r;

	jw_obj(&w, NULL);
	if (c->restart_drain >= 0)
		jw_int(&w, "drainSeconds", c->restart_drain);
	jw_end_obj(&w);
	r = control_ask(c, "restart", buf_slice(&params), &result);
	if (r != EXIT_DONE)
		return r;
	return wait_for_restart(c, (uint64_t)cli_number_of(buf_slice(&result), "restarts"),
				(uint64_t)cli_number_of(buf_slice(&result), "drainSeconds"));
}

/* --- sessions ------------------------------------------------------------------------------------------- */

static void print_session(struct slice s)
{
	_cleanup_(freep) char *id = cli_string_of(s, "sessionId"),
			      *state = cli_string_of(s, "state"),
			      *harness = cli_string_of(s, "harness"),
			      *cwd = cli_string_of(s, "cwd"), *title = cli_string_of(s, "title");
	struct slice seq = jobj_get(s, "seq").raw;

	printf("%-38s %-8s %-10s %8.*s  %s%s%s\n", id, state, harness, (int)seq.n, seq.p, cwd,
	       *title ? "  " : "", title);
}

int cmd_sessions(const struct config *c)
{
	_cleanup_(buf_done) struct buf result = { 0 };
	int r = control_ask(c, "sessions", SLICE("{}"), &result);

	if (r == EXIT_DONE)
		control_print_list(c, buf_slice(&result), "sessions", print_session);
	return r;
}
