/*
 * index.c - the on-disk format of indexes and turn files: fixed records with checksums, sorted by
 * path.
 *
 * A file is a header, then one record per entry: fixed fields, then the path. They are in the order of a walk that
 * takes the names of a directory by their bytes: sorted by path with "/" as the smallest byte (index_compare), so that
 * index, turns and a tree are joined by reading each once. Numbers are little-endian. The header has a checksum of
 * itself and of all records; a reader checks both, and every record, before the first one is handed out: a damaged
 * file is -EBADMSG as a whole and never half used.
 *
 * The epoch is a new random number for every baseline. A turn names its epoch, itself and the turn before it, so that a
 * chain of turns that leads back from an index is never mixed with one that an earlier baseline left behind.
 *
 * Writers put the records first and the header last, so a file without a valid header is an
 * unfinished one. Readers check all sums and all records before they return the first. The records
 * are read a second time later, so each is validated again. Structs have a fixed layout without
 * padding, and little-endian fields.
 */
#include "unpack/snapshot/index.h"

#include "base/format/crc32c.h"
#include "base/os/file.h"
#include "base/util.h"

#include <endian.h>

#define READ_PIECE (64 * KIB)
#define WRITE_PIECE (64 * KIB)

/* --- the written form -------------------------------------------------------------------------------- */

struct head_record {
	char magic[8];
	uint64_t epoch;
	uint32_t turn, from;
	uint64_t entries, files, bytes, pack;
	uint32_t body_crc, crc; /* crc: of what is before it */
};

struct index_entry_record {
	uint16_t path_n;
	uint8_t type, reason;
	uint32_t mode;
	uint64_t size, ino, mtime, ctime, at, packed;
	uint8_t proven, zero[7];
	unsigned char digest[SHA256_BYTES];
};

_Static_assert(sizeof(struct head_record) == 64, "no padding");
_Static_assert(sizeof(struct index_entry_record) == 96, "no padding");

static const char magics[][8] = {
	[INDEX_STATE] = { 'a', 'c', 'p', 'd', 'i', 'd', 'x', '1' },
	[INDEX_TURN] = { 'a', 'c', 'p', 'd', 't', 'r', 'n', '1' },
	[INDEX_DELIVERED] = { 'a', 'c', 'p', 'd', 'd', 'l', 'v', '1' },
};

bool index_entry_same(const struct index_entry *a, const struct index_entry *b)
{
	if (a->type != b->type)
		return false;
	switch (a->type) {
	case INDEX_NONE:
		return true;
	case INDEX_OMITTED:
		return a->reason == b->reason && a->mode == b->mode && a->size == b->size &&
		       a->ino == b->ino && a->mtime == b->mtime && a->ctime == b->ctime;
	case INDEX_FILE:
		if ((a->mode ^ b->mode) & S_IXUSR)
			return false;
		break;
	case INDEX_LINK:
		break;
	}
	return sha256_equal(&a->digest, &b->digest);
}

static unsigned path_rank(char c)
{
	return c == '/' ? 1 : c ? (unsigned char)c + 1u : 0;
}

int index_compare(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	/* "/" ranks lowest: "a/b" precedes "a-b", as in a walk of the tree. */
	return (int)path_rank(*a) - (int)path_rank(*b);
}

const char *index_first(const char *a, const char *b)
{
	return !a || (b && index_compare(b, a) < 0) ? b : a;
}

/* --- reading ----------------------------------------------------------------------------------------- */

static bool index_path_ok(const char *path, size_t n)
{
	if (!n || n > PATH_BYTES_MAX || memchr(path, 0, n))
		return false;
	for (size_t at = 0; at <= n;) {
		const char *slash = memchr(path + at, '/', n - at);
		size_t part = slash ? (size_t)(slash - path) - at : n - at;

		if (!part || (path[at] == '.' && (part == 1 || (part == 2 && path[at + 1] == '.'))))
			return false;
		at += part + 1;
	}
	return true;
}

static bool type_ok(const struct index_entry *e, enum index_kind kind)
{
	switch (e->type) {
	case INDEX_NONE:
		return kind != INDEX_STATE && !e->proven;
	case INDEX_FILE:
		return S_ISREG(e->mode);
	case INDEX_LINK:
		return S_ISLNK(e->mode) && e->size <= PATH_BYTES_MAX;
	case INDEX_OMITTED:
		return e->reason != OMIT_NOT;
	}
	return false;
}

static bool index_entry_ok(const struct index_entry *e, const struct index_head *h)
{
	if (!type_ok(e, h->kind) || (e->type != INDEX_OMITTED && e->reason != OMIT_NOT))
		return false;
	if (e->type != INDEX_FILE && e->type != INDEX_LINK)
		return !e->at && !e->packed;
	if (!e->at && !e->packed)
		return !e->size || h->kind == INDEX_DELIVERED;
	return e->size && e->packed && e->at <= h->pack && e->packed <= h->pack - e->at;
}

static int index_entry_decode(const struct index_entry_record *f, struct index_entry *e)
{
	static const unsigned char zero[sizeof(f->zero)];

	if (f->type > INDEX_OMITTED || f->reason >= OMIT_N || f->proven > 1 ||
	    memcmp(f->zero, zero, sizeof(zero)) != 0 || le64toh(f->size) > INT64_MAX)
		return -EBADMSG;
	*e = (struct index_entry){
		.type = f->type,
		.reason = f->reason,
		.proven = f->proven,
		.mode = le32toh(f->mode),
		.size = le64toh(f->size),
		.ino = le64toh(f->ino),
		.mtime = (int64_t)le64toh(f->mtime),
		.ctime = (int64_t)le64toh(f->ctime),
		.at = le64toh(f->at),
		.packed = le64toh(f->packed),
	};
	memcpy(e->digest.bytes, f->digest, SHA256_BYTES);
	return 0;
}

/* At least n bytes in r->in, unless the file is damaged. */
static int index_fill(struct index_reader *r, size_t n)
{
	size_t more = READ_PIECE;

	if (buf_len(&r->in) >= n)
		return 0;
	if (r->left < more)
		more = r->left;
	if (buf_len(&r->in) + more < n || buf_reserve(&r->in, more) < 0)
		return -EBADMSG;
	if (file_read_at(r->fd, r->in.data + r->in.len, more, r->offset) < 0)
		return -EBADMSG;
	r->in.len += more;
	r->offset += more;
	r->left -= more;
	return 0;
}

static int record_next(struct index_reader *r, const char **path, struct index_entry *e)
{
	struct index_entry_record f;
	size_t n;
	int ret;

	if (!r->left && !buf_len(&r->in))
		return 0;
	ret = index_fill(r, sizeof(f));
	if (ret < 0)
		return ret;
	memcpy(&f, r->in.data + r->in.pos, sizeof(f));
	buf_consume(&r->in, sizeof(f));
	n = le16toh(f.path_n);
	if (index_entry_decode(&f, e) < 0 || !index_entry_ok(e, &r->head) || n > PATH_BYTES_MAX ||
	    index_fill(r, n) < 0 || !index_path_ok(r->in.data + r->in.pos, n))
		return -EBADMSG;
	r->turn ^= 1;
	memcpy(r->path[r->turn], r->in.data + r->in.pos, n);
	r->path[r->turn][n] = '\0';
	*path = r->path[r->turn];
	buf_consume(&r->in, n);
	return 1;
}

int index_next(struct index_reader *r, const char **path, struct index_entry *e)
{
	const char *last = r->path[r->turn];
	int ret = record_next(r, path, e);

	/* the first one is greater than "" */
	return ret == 1 && index_compare(last, *path) >= 0 ? -EBADMSG : ret;
}

int index_next_change(struct index_reader *r, const char **path, struct index_entry *before,
		      struct index_entry *after)
{
	int ret = index_next(r, path, before);

	if (ret <= 0)
		return ret;
	ret = record_next(r, path, after);
	return ret == 1 && strcmp(r->path[0], r->path[1]) == 0 ? 1 : -EBADMSG;
}

static int head_read(struct index_reader *r, enum index_kind kind, uint32_t *body_crc)
{
	struct head_record f;
	struct stat sb;

	if (fstat(r->fd, &sb) < 0)
		return -errno;
	if (file_read_at(r->fd, &f, sizeof(f), 0) < 0 ||
	    memcmp(f.magic, magics[kind], sizeof(f.magic)) != 0 ||
	    le32toh(f.crc) != crc32c(0, &f, offsetof(struct head_record, crc)))
		return -EBADMSG;
	r->head = (struct index_head){
		.kind = kind,
		.epoch = le64toh(f.epoch),
		.turn = le32toh(f.turn),
		.from = le32toh(f.from),
		.entries = le64toh(f.entries),
		.files = le64toh(f.files),
		.bytes = le64toh(f.bytes),
		.pack = le64toh(f.pack),
	};
	*body_crc = le32toh(f.body_crc);
	r->left = (uint64_t)sb.st_size - sizeof(f);
	r->offset = sizeof(f);
	if (r->head.pack > INT64_MAX || (kind == INDEX_TURN && r->head.from >= r->head.turn))
		return -EBADMSG;
	return 0;
}

static int check_sum(struct index_reader *r, uint32_t want)
{
	uint32_t crc = 0;
	int ret = 0;

	while (ret == 0 && r->left) {
		ret = index_fill(r, 1);
		crc = crc32c(crc, r->in.data + r->in.pos, buf_len(&r->in));
		buf_reset(&r->in);
	}
	return ret == 0 && crc != want ? -EBADMSG : ret;
}

static int check_records(struct index_reader *r)
{
	struct index_entry before, after;
	const char *path;
	uint64_t n = 0;
	int ret;

	do {
		ret = r->head.kind == INDEX_TURN ? index_next_change(r, &path, &before, &after) :
						   index_next(r, &path, &after);
		n += ret == 1 ? 1 + (r->head.kind == INDEX_TURN) : 0;
	} while (ret == 1);
	return ret == 0 && n != r->head.entries ? -EBADMSG : ret;
}

static void rewind_to(struct index_reader *r, uint64_t left)
{
	buf_reset(&r->in);
	r->left = left;
	r->offset = sizeof(struct head_record);
	r->path[0][0] = r->path[1][0] = '\0';
}

int index_open(struct index_reader *r, int fd, enum index_kind kind)
{
	uint32_t crc = 0;
	uint64_t left;
	int ret;

	*r = (struct index_reader){ .fd = fd };
	ret = head_read(r, kind, &crc);
	left = r->left;
	if (ret == 0)
		ret = check_sum(r, crc);
	rewind_to(r, left);
	if (ret == 0)
		ret = check_records(r);
	rewind_to(r, left);
	if (ret < 0)
		index_close(r);
	return ret;
}

void index_close(struct index_reader *r)
{
	buf_done(&r->in);
}

/* --- writing ----------------------------------------------------------------------------------------- */

void index_begin(struct index_writer *w, int fd)
{
	*w = (struct index_writer){ .fd = fd, .offset = sizeof(struct head_record) };
}

static int index_flush(struct index_writer *w)
{
	int r = file_write_at(w->fd, w->out.data, w->out.len, w->offset);

	w->crc = crc32c(w->crc, w->out.data, w->out.len);
	w->offset += w->out.len;
	buf_reset(&w->out);
	return r;
}

int index_put(struct index_writer *w, const char *path, const struct index_entry *e)
{
	size_t n = strlen(path);
	struct index_entry_record f = {
		.path_n = htole16((uint16_t)n),
		.type = (uint8_t)e->type,
		.reason = (uint8_t)e->reason,
		.mode = htole32(e->mode),
		.size = htole64(e->size),
		.ino = htole64(e->ino),
		.mtime = htole64((uint64_t)e->mtime),
		.ctime = htole64((uint64_t)e->ctime),
		.at = htole64(e->at),
		.packed = htole64(e->packed),
		.proven = e->proven,
	};

	if (w->fd < 0)
		return 0;
	memcpy(f.digest, e->digest.bytes, SHA256_BYTES);
	if (buf_add(&w->out, &f, sizeof(f)) < 0 || buf_add(&w->out, path, n) < 0)
		return -ENOMEM;
	w->entries++;
	return w->out.len >= WRITE_PIECE ? index_flush(w) : 0;
}

int index_end(struct index_writer *w, struct index_head *head)
{
	struct head_record f = {
		.epoch = htole64(head->epoch),
		.turn = htole32(head->turn),
		.from = htole32(head->from),
		.entries = htole64(w->entries),
		.files = htole64(head->files),
		.bytes = htole64(head->bytes),
		.pack = htole64(head->pack),
	};
	int r;

	if (w->fd < 0)
		return 0;
	head->entries = w->entries;
	r = index_flush(w);
	if (r < 0)
		return r;
	memcpy(f.magic, magics[head->kind], sizeof(f.magic));
	f.body_crc = htole32(w->crc);
	f.crc = htole32(crc32c(0, &f, offsetof(struct head_record, crc)));
	return file_write_at(w->fd, &f, sizeof(f), 0);
}

void index_writer_done(struct index_writer *w)
{
	buf_done(&w->out);
}

/* --- history --------------------------------------------------------------------------------------------- */

/*
 * Going back from the index to the end of an earlier turn, or to the baseline. A history starts at the index and takes in
 * one turn file after the other, newest first; each names the next (from). It then holds the old entry of every path that
 * changed since; the index has all others. Turn files need only be open while they are taken in, so a process that may
 * open them can build the history before it gives its rights up.
 *
 * Set and file are sorted by index_compare, so each turn costs one merge. A file of another epoch or turn belongs to
 * another chain, and is refused. What was delivered after a turn counts as delivered before it, too: history_deliver pins
 * these paths, and older turns do not change a pinned path.
 */

void history_init(struct history *h, const struct index_head *index)
{
	*h = (struct history){ .epoch = index->epoch, .turn = index->turn };
}

void history_done(struct history *h)
{
	for (size_t i = 0; i < h->n; i++)
		free(h->v[i].path);
	free(h->v);
	*h = (struct history){ 0 };
}

/* What a file says of its next path. */
static int history_next_item(struct index_reader *r, const char **path, struct history_item *ret)
{
	struct index_entry after;

	*ret = (struct history_item){ .pinned = r->head.kind == INDEX_DELIVERED };
	return ret->pinned ? index_next(r, path, &ret->was) :
			     index_next_change(r, path, &ret->was, &after);
}

/* Both are sorted: an older turn's entry of a path replaces that of a later one, unless it is pinned. */
static int merge(struct history *h, struct index_reader *r, struct history_item *v, size_t *n)
{
	struct history_item item;
	const char *path;
	size_t i = 0;
	int ret;

	while ((ret = history_next_item(r, &path, &item)) == 1) {
		while (i < h->n && index_compare(h->v[i].path, path) < 0)
			v[(*n)++] = h->v[i++];
		if (i < h->n && strcmp(h->v[i].path, path) == 0) {
			if (h->v[i].pinned) {
				v[(*n)++] = h->v[i++];
				continue;
			}
			free(h->v[i++].path);
		}
		item.path = xstrdup(path);
		v[(*n)++] = item;
	}
	while (i < h->n)
		v[(*n)++] = h->v[i++];
	return ret;
}

/* On success *from is the turn before that of the file. */
static int history_take_in(struct history *h, int fd, enum index_kind kind, uint32_t *from)
{
	struct index_reader r;
	struct history_item *v;
	size_t n = 0;
	int ret = index_open(&r, fd, kind);

	if (ret < 0)
		return ret;
	if (r.head.epoch != h->epoch || r.head.turn != h->turn) {
		index_close(&r);
		return -EBADMSG;
	}
	v = xalloc((h->n + r.head.entries / (kind == INDEX_TURN ? 2 : 1)) * sizeof(*v));
	ret = merge(h, &r, v, &n);
	free(h->v);
	h->v = v;
	h->n = n;
	*from = r.head.from;
	index_close(&r);
	return ret;
}

int history_back(struct history *h, int turn_fd)
{
	return history_take_in(h, turn_fd, INDEX_TURN, &h->turn);
}

int history_deliver(struct history *h, int list_fd)
{
	uint32_t from;

	return history_take_in(h, list_fd, INDEX_DELIVERED, &from);
}
