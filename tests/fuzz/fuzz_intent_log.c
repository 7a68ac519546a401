/* The log of a commit, which lies where others write: any bytes are read without harm, what was written reads back the same, and what
 * is read never leads out of the tree. */
#include "fuzz.h"

#include "base/format/crc32c.h"
#include "base/os/file.h"
#include "unpack/commit/intent_log.h"

#include <errno.h>
#include <sys/mman.h>

/* Below the directory, whatever the directory is: no empty name, no dots, nothing unprintable. */
static void check_path(struct slice path)
{
	struct slice rest = path, name;

	FUZZ_CHECK(path.n && path.n <= PATH_BYTES_MAX);
	while (next_piece(&rest, '/', &name)) {
		FUZZ_CHECK(name.n && !slice_is(name, ".") && !slice_is(name, ".."));
		for (size_t i = 0; i < name.n; i++)
			FUZZ_CHECK((unsigned char)name.p[i] >= 0x20 && name.p[i] != 0x7f);
	}
}

static bool parse(struct slice line, struct op *op)
{
	_cleanup_(buf_done) struct buf again = { 0 };
	int r = op_parse(line, op);

	FUZZ_CHECK(r == 0 || r == -EBADMSG);
	if (r < 0)
		return false;
	FUZZ_CHECK(slice_inside(op->path, line) && op->path.p + op->path.n == line.p + line.n);
	check_path(op->path);
	/* one way to write it */
	FUZZ_CHECK(op_put(op, &again) == 0 && again.data[again.len - 1] == '\n');
	again.len--;
	FUZZ_CHECK(slice_eq(buf_slice(&again), line));
	return true;
}

static int file_of(struct slice text)
{
	int fd = memfd_create("log", MFD_CLOEXEC);

	FUZZ_CHECK(fd >= 0 && file_write_all(fd, text.p, text.n) == 0);
	return fd;
}

/* Returns the number of steps, or -1 if it is no log. */
static long check_log(struct slice text)
{
	_cleanup_(closep) int fd = file_of(text);
	char line[INTENT_LOG_LINE_MAX];
	struct intent_log log;
	int r = intent_log_load(&log, fd);
	long n = -1;

	FUZZ_CHECK(r == 0 || r == -EBADMSG);
	if (r == 0) {
		n = (long)log.n;
		FUZZ_CHECK(log.letter == text.n - 2 && strchr("PRUD", text.p[log.letter]));
		FUZZ_CHECK(log.kind != LOG_WHOLE || !log.n);
		for (size_t i = 0; i < log.n; i++) {
			struct op op;

			FUZZ_CHECK(intent_log_step(&log, i, line, &op) == 0);
			FUZZ_CHECK(strlen(op.path.p) == op.path.n);
			check_path(op.path);
		}
		FUZZ_CHECK(intent_log_set(&log, LOG_DONE) == 0);
	}
	intent_log_done(&log);
	return n;
}

/* The steps that are in the input, as a log with the right sum; and the same with one wrong bit, or cut off. */
static void check_written(struct slice text)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct slice rest = text, line;
	size_t n = 0, bit;

	buf_puts(&b, "acpd-merge 1 7\n");
	while (next_piece(&rest, '\n', &line)) {
		struct op op;

		if (line.n >= INTENT_LOG_LINE_MAX || !parse(line, &op))
			continue;
		buf_add_slice(&b, line);
		buf_putc(&b, '\n');
		n++;
	}
	buf_printf(&b, "end %zx %08x R\n", n, crc32c(0, b.data, b.len));
	FUZZ_CHECK(check_log(buf_slice(&b)) == (long)n);
	bit = text.n ? ((size_t)(unsigned char)text.p[text.n - 1] * 131 + text.n) % (8 * b.len) : 0;
	FUZZ_CHECK(check_log((struct slice){ b.data, bit / 8 }) < 0);
	b.data[bit / 8] ^= (char)(1 << bit % 8);
	FUZZ_CHECK(check_log(buf_slice(&b)) < 0 || bit / 8 == b.len - 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exact_free) struct slice text = exact(data, size);
	struct slice rest = text, line;

	while (next_piece(&rest, '\n', &line)) {
		_cleanup_(exact_free) struct slice alone = exact(line.p, line.n);
		struct op op;

		parse(alone, &op);
	}
	check_log(text);
	check_written(text);
	return 0;
}
