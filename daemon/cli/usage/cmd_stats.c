/*
 * cmd_stats.c - `acpd stats`: means over usage ledgers, of files or of a daemon (run_stats.c).
 *
 * The ledger of a daemon is copied into a temporary file and read as any other, so that its lines are checked by
 * the same code. A ledger with a line that is no record is an error: a mean without it would be wrong in silence.
 */
#include "cli/control/reach_daemon.h"
#include "cli/cmd.h"
#include "cli/usage/run_stats.h"

#include "base/os/file.h"
#include "usage/ledger/ledger_file.h"

static bool on_stats_record(void *ctx, uint64_t n _unused_, struct slice line)
{
	run_stats_add(ctx, line);
	return true;
}

static int read_ledger(struct run_stats *s, const char *path)
{
	_cleanup_(ledger_files_done) struct ledger_files files = { 0 };
	uint64_t skipped = 0;
	struct err e;

	if (ledger_files_open(&files, path, &e) < 0 ||
	    ledger_files_read(&files, 0, on_stats_record, s, &skipped, &e) < 0)
		return fail(EXIT_FAILED, "%s", e.msg);
	if (skipped)
		return fail(EXIT_FAILED, "%s: %llu lines are no records", path,
			    (unsigned long long)skipped);
	return EXIT_DONE;
}

static int receive_ledger(struct daemon_asker *a, int fd)
{
	uint64_t bytes = 0;
	bool cut;
	int r = asker_copy(a, fd, NULL, &bytes, &cut);

	return r < 0 ? fail(EXIT_FAILED, "the ledger could not be read: %s", strerror(-r)) :
		       EXIT_DONE;
}

/* By a copy: it is read as any other. */
static int read_daemon(struct run_stats *s, const struct config *c)
{
	const char *tmp = getenv("TMPDIR");
	_cleanup_(freep) char *path = file_join(tmp && *tmp ? tmp : "/tmp", "acpd-usage.XXXXXX");
	_cleanup_(closep) int fd = mkostemp(path, O_CLOEXEC);
	struct daemon_asker a = { .path = "/v1/usage" };
	int r;

	if (fd < 0)
		return fail(EXIT_FAILED, "%s: %s", path, strerror(errno));
	r = asker_request(&a, c, "GET");
	if (r == EXIT_DONE)
		r = a.answer.status == 200 ? receive_ledger(&a, fd) : asker_refused(&a);
	asker_done(&a);
	if (r == EXIT_DONE)
		r = read_ledger(s, path);
	unlink(path);
	return r;
}

static int read_all_ledgers(struct run_stats *s, const struct config *c)
{
	int r = EXIT_DONE;

	if (c->url)
		return c->nargs ? fail(EXIT_USAGE, "either --url or files, not both") :
				  read_daemon(s, c);
	for (int i = 0; r == EXIT_DONE && i < c->nargs; i++)
		r = read_ledger(s, c->args[i]);
	if (c->nargs)
		return r;
	if (!c->state)
		return fail(EXIT_USAGE, "--state or a file is needed: there is no home directory");
	return read_ledger(s, c->state);
}

static void print_stats(struct run_stats *s, bool json)
{
	JW_BUF(w, b);

	if (!json) {
		run_stats_print(s);
		return;
	}
	run_stats_put(s, &w);
	print_pretty(buf_slice(&b));
}

int cmd_stats(const struct config *c)
{
	struct err e;
	struct run_stats *s = run_stats_new(c->by, &e);
	int r = s ? read_all_ledgers(s, c) : fail(EXIT_USAGE, "%s", e.msg);

	if (r == EXIT_DONE)
		print_stats(s, c->json);
	run_stats_free(s);
	return r == EXIT_DONE ? flushed(r) : r;
}
