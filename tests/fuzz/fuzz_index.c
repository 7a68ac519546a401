/*
 * Files of a snapshot directory: whatever stands in one, an index or a turn that is opened is whole, in order and safe to join with a tree;
 * written again it is the same bytes; going back over a turn gives sorted paths. The checksums of the input are put right first, or nothing would
 * get past them; one bit less is then refused.
 */
#include "fuzz.h"

#include "base/format/crc32c.h"
#include "base/os/file.h"
#include "unpack/snapshot/index.h"
#include "unpack/snapshot/lists.h"

#include <errno.h>
#include <sys/mman.h>

#define HEAD 64
#define BODY_CRC 56
#define CRC 60

static int file_of(const char *p, size_t n)
{
	int fd = memfd_create("index", MFD_CLOEXEC);

	FUZZ_CHECK(fd >= 0 && file_write_all(fd, p, n) == 0);
	return fd;
}

static void mend(char *p, size_t n)
{
	uint32_t crc = crc32c(0, p + HEAD, n - HEAD);

	memcpy(p + BODY_CRC, &crc, sizeof(crc));
	crc = crc32c(0, p, CRC);
	memcpy(p + CRC, &crc, sizeof(crc));
}

static void check_path(const char *path)
{
	FUZZ_CHECK(*path && *path != '/' && strlen(path) <= PATH_BYTES_MAX);
	FUZZ_CHECK(path[strlen(path) - 1] != '/' && !strstr(path, "//"));
	FUZZ_CHECK(strcmp(path, "..") != 0 && strncmp(path, "../", 3) != 0 &&
		   !strstr(path, "/../"));
}

static void check_entry(const struct index_entry *e, const struct index_head *h)
{
	FUZZ_CHECK(omit_word(e->reason));
	FUZZ_CHECK(e->at + e->packed <= h->pack || (!e->at && !e->packed));
	FUZZ_CHECK(index_entry_same(e, e));
}

/* Reads all and writes it again. */
static uint64_t copy(struct index_reader *r, struct index_writer *w)
{
	char last[PATH_BYTES_MAX + 1] = "";
	struct index_entry before, after;
	const char *path;
	uint64_t n = 0;
	int ret;

	for (;; n++) {
		bool turn = r->head.kind == INDEX_TURN;

		ret = turn ? index_next_change(r, &path, &before, &after) :
			     index_next(r, &path, &after);
		if (ret != 1)
			break;
		check_path(path);
		check_entry(&after, &r->head);
		FUZZ_CHECK(index_compare(last, path) < 0);
		strcpy(last, path);
		if (turn)
			check_entry(&before, &r->head);
		FUZZ_CHECK(!turn || index_put(w, path, &before) == 0);
		FUZZ_CHECK(index_put(w, path, &after) == 0);
	}
	FUZZ_CHECK(ret == 0);
	return n;
}

static void check_same_again(struct index_reader *r, struct slice input)
{
	_cleanup_(closep) int fd = memfd_create("again", MFD_CLOEXEC);
	_cleanup_(buf_done) struct buf again = { 0 };
	struct index_head head = r->head;
	struct index_writer w;

	index_begin(&w, fd);
	copy(r, &w);
	FUZZ_CHECK(index_end(&w, &head) == 0 && head.entries == r->head.entries);
	index_writer_done(&w);
	lseek(fd, 0, SEEK_SET);
	FUZZ_CHECK(file_read_fd(fd, input.n + 1, &again) == 0 &&
		   slice_eq(buf_slice(&again), input));
}

static void check_back(int fd, const struct index_head *turn)
{
	struct index_head index = { .epoch = turn->epoch, .turn = turn->turn };
	struct history h;

	history_init(&h, &index);
	FUZZ_CHECK(history_back(&h, fd) == 0);
	FUZZ_CHECK(h.turn == turn->from && h.turn < turn->turn && h.n == turn->entries / 2);
	for (size_t i = 1; i < h.n; i++)
		FUZZ_CHECK(index_compare(h.v[i - 1].path, h.v[i].path) < 0);
	history_done(&h);
}

static void check_deliver(int fd, const struct index_head *list)
{
	struct index_head index = { .epoch = list->epoch, .turn = list->turn };
	struct history h;

	history_init(&h, &index);
	FUZZ_CHECK(history_deliver(&h, fd) == 0);
	FUZZ_CHECK(h.turn == list->turn && h.n == list->entries);
	for (size_t i = 0; i < h.n; i++)
		FUZZ_CHECK(h.v[i].pinned);
	history_done(&h);
}

static void check_kind(struct slice input, enum index_kind kind)
{
	_cleanup_(closep) int fd = file_of(input.p, input.n), bad = -1;
	struct index_reader r;
	char *p = (char *)(uintptr_t)input.p;
	int ret = index_open(&r, fd, kind);

	FUZZ_CHECK(ret == 0 || ret == -EBADMSG);
	if (ret < 0)
		return;
	check_same_again(&r, input);
	if (kind == INDEX_TURN)
		check_back(fd, &r.head);
	if (kind == INDEX_DELIVERED)
		check_deliver(fd, &r.head);
	index_close(&r);
	p[input.n / 2] = (char)(p[input.n / 2] ^ 1);
	bad = file_of(p, input.n);
	FUZZ_CHECK(index_open(&r, bad, kind) == -EBADMSG);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const magics[] = {
		[INDEX_STATE] = "acpdidx1", [INDEX_TURN] = "acpdtrn1", [INDEX_DELIVERED] = "acpddlv1"
	};
	const unsigned n = ARRAY_SIZE(magics);

	for (unsigned i = 0; i < 2 * n; i++) {
		_cleanup_(exact_free) struct slice input = exact(data, size);
		char *p = (char *)(uintptr_t)input.p;

		if (i >= n && size >= HEAD) {
			memcpy(p, magics[i - n], 8);
			mend(p, size);
		}
		check_kind(input, (enum index_kind)(i % n));
	}
	return 0;
}
