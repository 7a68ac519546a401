/* cmd_stats.c - `acpd stats`: means over usage ledgers, of files or of a daemon. */
#include "cli/control/ask_daemon.h"
#include "cli/cmd.h"
#include "cli/usage/run_stats.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "json/jpretty.h"
#include "usage/ledger/ledger_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

static bool on_record(void *ctx, uint64_t n _unused_, struct slice line)
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
	    ledger_files_read(&files, 0, on_record, s, &skipped, &e) < 0)
		return fail(EXIT_FAILED, "%s", e.msg);
	if (skipped)
		return fail(EXIT_FAILED, "%s: %llu lines are no records", path,
			    (unsigned long long)skipped);
	return EXIT_DONE;
}

static int receive(struct daemon_asker *a, int fd)
{
	_cleanup_(freep) char *piece = xalloc(BODY_READ_BYTES);
	ssize_t n;
	int r = 0;

	while (r == 0 && (n = http_client_read(a->http, piece, BODY_READ_BYTES)) != 0)
		r = n < 0 ? (int)n : file_write_all(fd, piece, (size_t)n);
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
	struct err e;
	int asked, r;

	if (fd < 0)
		return fail(EXIT_FAILED, "%s: %s", path, strerror(errno));
	r = asker_open(&a, c);
	if (r == EXIT_DONE) {
		asked = asker_ask(&a, "GET", &e);
		if (asked < 0)
			r = fail(asker_code(asked), "%s", e.msg);
		else
			r = a.answer.status == 200 ? receive(&a, fd) : asker_refused(&a);
	}
	asker_done(&a);
	if (r == EXIT_DONE)
		r = read_ledger(s, path);
	unlink(path);
	return r;
}

static int read_all(struct run_stats *s, const struct config *c)
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

static void print(struct run_stats *s, bool json)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	_cleanup_(freep) char *pretty = NULL;
	struct jw w = JW(&b);

	if (!json) {
		run_stats_print(s);
		return;
	}
	run_stats_put(s, &w);
	pretty = jpretty(buf_slice(&b));
	printf("%s\n", pretty ? pretty : "{}");
}

int cmd_stats(const struct config *c)
{
	struct err e;
	struct run_stats *s = run_stats_new(c->by, &e);
	int r = s ? read_all(s, c) : fail(EXIT_USAGE, "%s", e.msg);

	if (r == EXIT_DONE)
		print(s, c->json);
	run_stats_free(s);
	if (r == EXIT_DONE && (fflush(stdout) != 0 || ferror(stdout)))
		r = fail(EXIT_FAILED, "standard output: %s", strerror(errno));
	return r;
}
