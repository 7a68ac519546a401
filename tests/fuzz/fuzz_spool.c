/* Lines of a spool, and whole files of them: any bytes are read without harm, a record that is written reads the same, and a spool
 * that was opened on foreign bytes goes on: what is added has the next number, and is there when it is opened again. */
#include "fuzz.h"

#include "base/format/crc32c.h"
#include "base/log.h"
#include "base/os/file.h"
#include "loop/loop.h"
#include "outbox/spool.h"

#include <fcntl.h>

static void check_again(const struct spool_record *r)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct spool_record back;

	FUZZ_CHECK(spool_record_put(&b, r) == 0);
	FUZZ_CHECK(spool_record_parse((struct slice){ b.data, b.len - 1 }, &back) == 0);
	FUZZ_CHECK(back.line == r->line && back.n == r->n && back.from == r->from &&
		   back.to == r->to && back.time_ms == r->time_ms);
	FUZZ_CHECK(slice_eq(back.type, r->type) && slice_eq(back.session, r->session) &&
		   slice_eq(back.id, r->id) && slice_eq(back.data, r->data) &&
		   slice_eq(back.spool, r->spool) && slice_eq(back.sandbox, r->sandbox) &&
		   slice_eq(back.events, r->events));
}

static void check_line(struct slice line)
{
	struct spool_record r;

	if (spool_record_parse(line, &r) == 0)
		check_again(&r);
}

/* Each line with a checksum that is right: the fuzzer cannot guess one. */
static void with_crcs(struct slice text, struct buf *ret)
{
	const char *p = text.p, *end = text.p + text.n, *nl;

	for (; p < end && (nl = memchr(p, '\n', (size_t)(end - p))); p = nl + 1) {
		buf_add(ret, p, (size_t)(nl - p));
		buf_printf(ret, ",\"crc\":\"%08x\"}\n", crc32c(0, p, (size_t)(nl - p)));
	}
	buf_add(ret, p, (size_t)(end - p));
}

/* --- whole files ------------------------------------------------------------------------------------------ */

static unsigned waiting;

static void on_added(void *ctx _unused_, struct spooled *x _unused_, struct slice s _unused_)
{
	waiting++;
}

static void on_gone(void *ctx _unused_, struct spooled *x _unused_)
{
	waiting--;
}

static void on_written(void *ctx _unused_)
{
}

static struct spool *open_spool(struct loop *l, const char *dir)
{
	static const struct spool_bounds bounds = { 1024 * 1024, 1000, 1000 };
	static const struct spool_ops ops = { on_added, on_gone, on_written };
	struct spool_counts c;
	struct spool *s;
	struct err e;

	waiting = 0;
	s = spool_open(l, dir, &bounds, &ops, NULL, &e);
	FUZZ_CHECK(s);
	spool_count(s, &c);
	FUZZ_CHECK(c.waiting == waiting);
	return s;
}

static void check_file(struct loop *l, const char *dir, struct slice text)
{
	_cleanup_(freep) char *path = file_join(dir, "00000000000000000001.spool");
	struct spool_record r = { .type = SLICE("turn.ended"),
				  .session = SLICE("s"),
				  .data = SLICE("{}") };
	struct spool *s;
	unsigned before;
	uint64_t n;

	FUZZ_CHECK(file_mkdirs(dir, 0700) == 0 && file_replace(path, text.p, text.n, 0600) == 0);
	s = open_spool(l, dir);
	n = spool_add(s, &r);
	before = waiting;
	spool_close(s);
	s = open_spool(l, dir);
	FUZZ_CHECK(waiting == before);
	FUZZ_CHECK(spool_add(s, &r) == n + 1);
	spool_remove(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exact_free) struct slice text = exact(data, size);
	_cleanup_(buf_done) struct buf whole = { 0 };
	char dir[] = "/dev/shm/acpd-fuzz-spool-XXXXXX";
	struct loop *l = loop_new();

	log_set_level(LOG_ERROR);
	check_line(text);
	with_crcs(text, &whole);
	check_line((struct slice){ whole.data, whole.len ? whole.len - 1 : 0 });
	FUZZ_CHECK(mkdtemp(dir));
	check_file(l, dir, text);
	check_file(l, dir, buf_slice(&whole));
	loop_free(l);
	return 0;
}
