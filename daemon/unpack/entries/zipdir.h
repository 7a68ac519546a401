/*
 * zipdir.h - reads the directory of a zip, and checks all of it before it is used.
 */
#pragma once

#include "unpack/stage/stage_plan.h"

enum zip_method { ZIP_STORED = 0, ZIP_DEFLATED = 8 };

struct zip_entry {
	uint64_t header; /* offset of the local header */
	uint64_t data;	 /* of its bytes */
	uint64_t packed, size;
	uint64_t name_at; /* of its name in the directory */
	int64_t mtime;
	uint32_t crc;
	uint16_t mode, name_n, method, flags;
	uint8_t type; /* enum source_entry_type */
};

struct zip_dir {
	int fd;
	uint64_t file_size, begin, end; /* of the directory */
	struct zip_entry *v;
	size_t n;
	uint64_t unpacked; /* all sizes together */
};

/* entries_max: more are TOO_MANY_ENTRIES. */
int zip_dir_read(struct zip_dir *d, int fd, uint64_t entries_max, struct verdict *v);
void zip_dir_done(struct zip_dir *d);
/* The name of entry i into name (64 KiB at most), whose old contents are removed. */
int zip_dir_name(const struct zip_dir *d, const struct zip_entry *e, struct buf *name,
		 struct verdict *v);

/* Little-endian numbers, read everywhere in a zip. */
static inline uint32_t zip_u16(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}
static inline uint32_t zip_u32(const uint8_t *p)
{
	return zip_u16(p) | zip_u16(p + 2) << 16;
}
static inline uint64_t zip_u64(const uint8_t *p)
{
	return zip_u32(p) | (uint64_t)zip_u32(p + 4) << 32;
}

/* Reads exactly n bytes; beyond the end of the file is ARCHIVE_TRUNCATED. */
int zip_pread(int fd, uint64_t at, void *to, size_t n, struct verdict *v);
/* Every local header against its entry, and what lies between (ziplocal.c). Fills in where the data begin. */
int zip_check_local(struct zip_dir *d, struct verdict *v);
