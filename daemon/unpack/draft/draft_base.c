/*
 * draft_base.c - reads and writes the record of the real tree that a draft starts from.
 *
 * A file of the daemon's state: a first line (tree/draft_head.h), a record for each path in the order of tree_walker.h, a line
 * with a checksum of all of it. An apply begins a new generation: with that an overlay begins anew, empty, since what lies
 * beneath it has changed. An entry whose stamps are all zeros says that there was nothing. real: the stat data of the real tree's
 * entry; after an apply they are not known. The digest is of its bytes, so that a file with other times and the same bytes
 * is as it was; up to DRAFT_HASH_BYTES of a tree are hashed when a draft begins. view: the stat data of a copy's own entry when
 * it was the same as the real tree's.
 *
 * Functions return 0 or a negative errno; -EBADMSG: the file is damaged.
 *
 * The file is the daemon's own state, so the CRC guards against a torn write and not against
 * forgery. Records are structs in host byte order: a record never leaves its machine. The whole
 * file is read and checked before the first record is used. An fsync ends the writing; the caller
 * renames afterwards, so a record that exists under its final name is complete.
 */
#include "unpack/draft/draft.h"

#include "base/util.h"
#include "base/format/crc32c.h"
#include "base/os/file.h"

#define PIECE (256 * KIB)
#define TAIL_BYTES 9 /* eight hex digits and a newline */

/* A record, before its path. */
struct base_record {
	uint16_t n; /* bytes of the path */
	uint8_t has_view, has_digest;
	struct stamp real, view;
	struct sha256 digest;
};

/* --- writing ---------------------------------------------------------------------------------------------- */

void draft_base_begin(struct summed_writer *w, int fd, const struct draft_head *head)
{
	*w = (struct summed_writer){ .fd = fd };
	draft_head_put(&w->out, head);
}

int draft_base_put(struct summed_writer *w, const char *path, const struct draft_base_entry *e)
{
	struct base_record r;

	memset(&r, 0, sizeof(r)); /* its padding goes to the disk, too */
	r.n = (uint16_t)strlen(path);
	r.has_view = e->has_view;
	r.has_digest = e->has_digest;
	r.real = e->real;
	r.view = e->view;
	if (e->has_digest)
		r.digest = e->digest;
	buf_add(&w->out, &r, sizeof(r));
	buf_add(&w->out, path, r.n);
	return w->out.len >= PIECE ? summed_flush(w) : 0;
}

int draft_base_end(struct summed_writer *w)
{
	int r = summed_flush(w);

	if (r < 0)
		return r;
	buf_printf(&w->out, "%08x\n", w->crc);
	r = summed_flush(w);
	return r == 0 && fsync(w->fd) < 0 ? -errno : r;
}

/* --- reading ------------------------------------------------------------------------------------------------ */

static int base_take_record(struct draft_base *b, struct slice *text)
{
	struct draft_base_entry *e;
	struct base_record r;

	if (text->n < sizeof(r))
		return -EBADMSG;
	memcpy(&r, text->p, sizeof(r));
	if (text->n - sizeof(r) < r.n || !r.n || r.n > PATH_BYTES_MAX ||
	    b->n == 2 * DRAFT_ENTRIES_MAX)
		return -EBADMSG;
	e = GROW(b->v, b->n);
	*e = (struct draft_base_entry){ .path = b->text.len,
					.real = r.real,
					.view = r.view,
					.has_view = r.has_view,
					.has_digest = r.has_digest,
					.digest = r.digest };
	buf_add(&b->text, text->p + sizeof(r), r.n);
	text->p += sizeof(r) + r.n;
	text->n -= sizeof(r) + r.n;
	return buf_putc(&b->text, '\0');
}

static int take_all(struct draft_base *b, struct slice text)
{
	char tail[TAIL_BYTES + 1];
	int r = 0;

	if (text.n < TAIL_BYTES)
		return -EBADMSG;
	text.n -= TAIL_BYTES;
	snprintf(tail, sizeof(tail), "%08x\n", crc32c(0, text.p, text.n));
	if (memcmp(text.p + text.n, tail, TAIL_BYTES) != 0 || !draft_head_take(&text, &b->head))
		return -EBADMSG;
	while (r == 0 && text.n)
		r = base_take_record(b, &text);
	return r;
}

int draft_base_read(struct draft_base *b, int fd)
{
	_cleanup_(buf_done) struct buf all = { .max = DRAFT_BASE_MAX };
	int r;

	*b = (struct draft_base){ .text.max = DRAFT_TEXT_MAX };
	r = file_read_fd(fd, DRAFT_BASE_MAX, &all);
	return r < 0 ? r : take_all(b, buf_slice(&all));
}

void draft_base_done(struct draft_base *b)
{
	free(b->v);
	buf_done(&b->text);
}
