/*
 * Usage ledgers: any file is read, checked and taken up without harm. What is handed out is a record; what verify calls whole is read whole, from
 * any number; a file of a later version is refused and left as it is; one that is taken up is whole again, if all before its end was.
 */
#include "ledger_verify.h"
#include "fuzz.h"

#include "base/os/file.h"
#include "base/log.h"
#include "usage/ledger/ledger_file.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct reading {
	uint64_t since, last, lines;
	bool whole;
};

static bool on_line(void *ctx, uint64_t n, struct slice line)
{
	struct reading *r = ctx;
	struct ledger_head h;

	FUZZ_CHECK(n > r->since);
	FUZZ_CHECK(ledger_line_check(line, &h, NULL) == LEDGER_LINE_OK && h.n == n);
	FUZZ_CHECK(is_json(line, J_OBJECT) && !memchr(line.p, '\n', line.n));
	FUZZ_CHECK(!r->whole || n == r->last + 1);
	r->last = n;
	r->lines++;
	return true;
}

static void check_reading(int fd, const struct ledger_report *rep, uint64_t since)
{
	struct reading r = { .since = since, .last = since, .whole = !rep->first_bad };
	uint64_t skipped;

	FUZZ_CHECK(ledgerfile_read(fd, 0, since, on_line, &r, &skipped) == 0);
	if (rep->first_bad)
		return;
	FUZZ_CHECK(skipped == 0);
	FUZZ_CHECK(r.lines == (since < rep->records ? rep->records - since : 0));
}

static void check_end(int fd)
{
	_cleanup_(buf_done) struct buf line = { 0 }, again = { 0 };
	const char *what = NULL;
	struct ledger_head h;
	struct stat sb;
	off_t end;
	int r = ledgerfile_last(fd, &line, &end, &what);

	fstat(fd, &sb);
	FUZZ_CHECK(r == 0 || r == 1 || ((r == -EBADMSG || r == -EPROTONOSUPPORT) && what));
	if (r < 0)
		return;
	FUZZ_CHECK(end >= 0 && end <= sb.st_size && (r == 1) == (end > 0));
	FUZZ_CHECK(ftruncate(fd, end) == 0);
	FUZZ_CHECK(ledgerfile_last(fd, &again, &sb.st_size, &what) == r && sb.st_size == end);
	FUZZ_CHECK(slice_eq(buf_slice(&line), buf_slice(&again)));
	FUZZ_CHECK(!r || ledger_line_check(buf_slice(&line), &h, NULL) == LEDGER_LINE_OK);
}

/* A daemon's life on this file. cut: what is whole of it, as far as verify knows. */
static void check_life(const char *file, struct slice input, const struct ledger_report *cut)
{
	_cleanup_(buf_done) struct buf after = { 0 };
	struct loop *loop = loop_new();
	struct ledger_report rep;
	struct err e = { 0 };
	struct ledger *l = ledger_open(loop, file, "aa", &e);

	if (l) {
		uint64_t last = ledger_last(l);

		FUZZ_CHECK(ledger_append(l, SLICE("{\"type\":\"turn\"}")) == last + 1);
		FUZZ_CHECK(ledger_append(l, SLICE("{}")) == last + 2);
		ledger_free(l);
		FUZZ_CHECK(ledger_verify(file, NULL, &rep, &e) == 0);
		if (!last) /* a new file, or all of it was set aside */
			FUZZ_CHECK(!rep.first_bad && rep.records == 2);
		else if (cut->first_bad)
			FUZZ_CHECK(rep.first_bad == cut->first_bad);
		else if (last > cut->records) /* numbers of damaged records are not given again */
			FUZZ_CHECK(rep.first_bad == cut->records + 1);
		else
			FUZZ_CHECK(!rep.first_bad && rep.records == cut->records + 2);
	} else {
		check_err(&e);
		FUZZ_CHECK(strcmp(e.reason, "STATE_VERSION") == 0);
		FUZZ_CHECK(file_read(file, input.n + 1, &after) == 0);
		FUZZ_CHECK(slice_eq(buf_slice(&after), input));
	}
	loop_free(loop);
}

/* What is known of a ledger beside it: what can be read of it is written again as it was. */
static void check_state(int fd)
{
	_cleanup_(closep) int copy = memfd_create("state", MFD_CLOEXEC);
	struct ledger_state s, again;
	int r = ledger_state_load(fd, &s);

	FUZZ_CHECK(r == 0 || r == -EBADMSG);
	FUZZ_CHECK(r == 0 || (!s.read && !s.handed && !s.removed.n));
	FUZZ_CHECK(copy >= 0 && ledger_state_store(copy, &s) == 0);
	FUZZ_CHECK(ledger_state_load(copy, &again) == 0);
	FUZZ_CHECK(s.read == again.read && s.handed == again.handed);
	FUZZ_CHECK(s.removed.n == again.removed.n);
	FUZZ_CHECK(strcmp(s.removed.digest, again.removed.digest) == 0);
}

static char dir[] = "/dev/shm/acpd-fuzz-XXXXXX", path[64];

static void remove_scratch(void)
{
	file_remove_tree(dir);
}

static void make_scratch(void)
{
	if (path[0])
		return;
	if (!mkdtemp(dir)) { /* it is much faster in memory, but any place will do */
		snprintf(dir, sizeof(dir), "/tmp/acpd-fuzz-XXXXXX");
		FUZZ_CHECK(mkdtemp(dir));
	}
	snprintf(path, sizeof(path), "%s/usage.jsonl", dir);
	atexit(remove_scratch);
	log_set_level(LOG_ERROR);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(closep) int fd = memfd_create("ledger", MFD_CLOEXEC);
	struct ledger_report rep;

	make_scratch();
	FUZZ_CHECK(fd >= 0 && file_write_all(fd, data, size) == 0);
	FUZZ_CHECK(file_replace(path, data, size, 0600) == 0);
	check_state(fd);
	FUZZ_CHECK(ledgerfile_verify(fd, NULL, 0, &rep) == 0);
	FUZZ_CHECK(memchr(rep.reason, 0, sizeof(rep.reason)) && !rep.first_bad == !rep.reason[0]);
	check_reading(fd, &rep, 0);
	check_reading(fd, &rep, 1);
	check_reading(fd, &rep, rep.records);
	check_reading(fd, &rep, UINT64_MAX);
	check_end(fd);
	FUZZ_CHECK(ledgerfile_verify(fd, NULL, 0, &rep) == 0);
	check_life(path, (struct slice){ (const char *)data, size }, &rep);
	return 0;
}
