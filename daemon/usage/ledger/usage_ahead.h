/*
 * usage_ahead.h - <dir>/usage.ahead: the ends of several files, written a second time into blocks that the file system has
 * given already, so that making them durable changes no metadata and costs one flush of the device. An append costs a
 * commit of the file system's own journal, and each file its own.
 *
 * The file has a fixed size (USAGE_AHEAD_BYTES), is filled with zeros before its first use, and is written in place: frames,
 * one for each sync, each at the beginning of a block, so that none is touched by the writing of another. A frame holds
 * pieces: name of a file, offset, the bytes there, and some of those before them, by which the place is known again. Its
 * head has a number and a CRC-32C over all of it. The frames of one life have the same salt and count up, so the end is
 * where the next frame is none. Once the files themselves are durable it is begun again from the front.
 *
 * The size of one of these files is not asked for (fstat) while turns go on: since Linux 6.13 a file that was looked at
 * gets an exact time with its next write, and no coarse time of the machine is behind that one any more. So each write
 * of usage.ahead would get a time of its own, and ext4 without a journal writes the block of a file's inode before it
 * flushes (80 us). https://docs.kernel.org/filesystems/multigrain-ts.html
 *
 * A start after a stop of the machine puts back what the files have lost (usage_ahead_replay): only what is missing at a
 * file's end, and only where what stands before it is what stood there. All files lie below one directory. Nothing
 * here knows the loop; one thread at a time.
 */
#pragma once

#include "base/buf.h"

#include <stdint.h>
#include <sys/types.h>

struct usage_ahead {
	char *path;
	int fd;	     /* -1: there is none, or it could not be written */
	char *frame; /* that is being put together */
	size_t used;
	off_t at;	    /* where the next one goes */
	uint64_t salt, seq; /* of it */
	bool plain; /* the file system has no flag for a write that is durable when it returns */
};

/* A piece of a file; name: below the directory. */
struct usage_ahead_piece {
	const char *name;
	int fd;
	off_t from, to;
};

/* path is copied. */
void usage_ahead_init(struct usage_ahead *a, const char *path);
/* emptied: its pieces are durable in their files. */
void usage_ahead_done(struct usage_ahead *a, bool emptied);
/* Call it before usage_ahead_prepare. */
void usage_ahead_alloc(struct usage_ahead *a);
/* Takes up the file, or makes and fills it. Waits for the disk. 0 or -errno; -ENOSPC: it would take too much of what is
 * left. Allocates nothing. */
int usage_ahead_prepare(struct usage_ahead *a);
static inline bool usage_ahead_ready(const struct usage_ahead *a)
{
	return a->fd >= 0;
}
/* Bytes of a piece in a frame; 0: it may not be in one. */
size_t usage_ahead_need(const struct usage_ahead_piece *p);
/* A frame of pieces that need so many bytes has room. */
bool usage_ahead_fits(const struct usage_ahead *a, size_t need);
/* One frame of all of them. 0: it is durable. Else nothing more is written to the file, and what it has stays. */
int usage_ahead_put(struct usage_ahead *a, const struct usage_ahead_piece *pieces, size_t n);
/* All pieces are durable in their files. */
void usage_ahead_rewind(struct usage_ahead *a);

struct usage_ahead_replay {
	size_t restored; /* files that got bytes back */
	size_t unknown;	 /* pieces whose file is not what it was */
};

/* Puts back what files have lost, makes them durable, and empties the file at path. open_file: a descriptor for reading
 * and writing, or -errno; -ENOENT: it was removed. 0; -errno: what was answered for cannot be put back, and all is kept
 * for another try. */
int usage_ahead_restore(const char *path, int (*open_file)(void *ctx, const char *name), void *ctx,
			struct usage_ahead_replay *ret);

/* How a frame lies on disk, for usage_ahead.c and usage_ahead_restore.c alone. In the byte order of the machine: another's
 * is no frame. */
#define USAGE_AHEAD_MAGIC "acpdfrm1"
#define USAGE_AHEAD_BLOCK 4096u
#define USAGE_AHEAD_NAME_MAX 255u
#define USAGE_AHEAD_CONTEXT 64u /* bytes before a piece, by which its place is known again */

struct usage_ahead_head {
	char magic[8];
	uint64_t salt, seq;
	uint32_t bytes; /* of the frame, this head included */
	uint32_t crc;	/* of the frame, with 0 here */
};

/* Followed by name, context and the piece. */
struct usage_ahead_entry {
	uint64_t offset;
	uint32_t bytes;
	uint16_t name, context;
};
