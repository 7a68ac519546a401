/* A whole journal of an earlier life, which any disk may have worked on: it is read without harm, what is there and what is said to be missing
 * are all numbers in order, it takes more, and the next life reads the same. Byte 0 and the two after it flip one bit of a good journal, or 0: the
 * rest of the input is the journal; lines that end in "#" get the checksum that a fuzzer cannot guess. */
#include "fuzz.h"

#include "base/format/crc32c.h"
#include "base/os/file.h"
#include "session/core/log/evlog.h"
#include "session/core/log/event_table.h"
#include "session/core/log/journal_record.h"

#include <fcntl.h>
#include <stdio.h>

#define EVENTS 6

static struct loop *loop;
static char dir[] = "/tmp/fuzz-journal-XXXXXX", path[64];

static void clean_up(void)
{
	loop_free(loop);
	rmdir(dir);
}

static void on_record(void *ctx, const struct journal_record *rec)
{
	uint64_t *last = ctx;

	FUZZ_CHECK(!rec->seq || rec->seq > *last);
	if (rec->seq)
		*last = rec->seq;
}

static bool on_event(void *ctx, const struct evlog_entry *e)
{
	uint64_t *next = ctx;

	FUZZ_CHECK(e->seq == *next);
	++*next;
	return true;
}

/* Returns how many are missing. */
static uint64_t walk(struct evlog *l)
{
	uint64_t next = 1, missing = 0;
	struct evlog_gap g;

	while (next <= l->last) {
		uint64_t before = next;

		if (evlog_gap(l, next, &g)) {
			FUZZ_CHECK(g.from == next && g.to >= next && g.to <= l->last);
			missing += g.to - next + 1;
			next = g.to + 1;
		} else {
			FUZZ_CHECK(evlog_read(l, next, on_event, &next) == 0);
		}
		FUZZ_CHECK(next > before);
	}
	FUZZ_CHECK(missing == evlog_missing(l));
	return missing;
}

static void append(struct evlog *l)
{
	struct evlog_entry e = { .seq = l->last + 1,
				 .kind = UPDATE_AGENT_CHUNK,
				 .frame = SLICE("{\"event\":1}") };

	evlog_append(l, &e, event_kind_name(e.kind));
}

static void check_journal(void)
{
	uint64_t seen = 0, last, missing;
	struct evlog l;

	if (evlog_reopen(&l, loop, path, 1 << 20, on_record, &seen) == 0) {
		last = l.last;
		FUZZ_CHECK(seen <= last);
		missing = walk(&l);
		if (last < UINT64_MAX / 2) {
			append(&l);
			FUZZ_CHECK(evlog_flush(&l) == 0);
			evlog_close(&l);
			seen = 0;
			FUZZ_CHECK(evlog_reopen(&l, loop, path, 1 << 20, on_record, &seen) == 0);
			FUZZ_CHECK(seen == last + 1 && l.last == last + 1 && walk(&l) == missing);
		}
	}
	evlog_close(&l);
}

static void put_line(struct buf *b, struct slice line)
{
	if (line.n && line.p[line.n - 1] == '#')
		buf_printf(b, "%.*s,\"crc\":\"%08x\"}", (int)(line.n - 1), line.p,
			   crc32c(0, line.p, line.n - 1));
	else
		buf_add_slice(b, line);
}

static void put_lines(struct buf *b, struct slice text)
{
	const char *p = text.p, *end = text.p + text.n, *nl;

	for (; p < end && (nl = memchr(p, '\n', (size_t)(end - p))); p = nl + 1) {
		put_line(b, (struct slice){ p, (size_t)(nl - p) });
		buf_putc(b, '\n');
	}
	buf_add(b, p, (size_t)(end - p));
}

static void put_flipped(struct buf *b, const uint8_t *how)
{
	size_t bit = how[0] | (size_t)how[1] << 8 | (size_t)how[2] << 16;

	journal_record_put(b, &(struct journal_record){ .value = SLICE("{\"cwd\":\"/\"}") },
			   "session");
	for (uint64_t i = 1; i <= EVENTS; i++)
		journal_record_put(b, &(struct journal_record){ .seq = i, .value = SLICE("{}") },
				   event_kind_name(UPDATE_AGENT_CHUNK));
	bit %= 8 * b->len;
	b->data[bit / 8] ^= (char)(1 << bit % 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	int fd;

	if (size < 3)
		return 0;
	if (!loop) {
		loop = loop_new();
		FUZZ_CHECK(mkdtemp(dir) != NULL);
		snprintf(path, sizeof(path), "%s/journal", dir);
		atexit(clean_up);
	}
	if (data[0])
		put_flipped(&b, data);
	else
		put_lines(&b, (struct slice){ (const char *)data + 1, size - 1 });
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	FUZZ_CHECK(fd >= 0 && file_write_all(fd, b.data ? b.data : "", b.len) == 0);
	close(fd);
	check_journal();
	unlink(path);
	return 0;
}
