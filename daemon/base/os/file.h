/* file.h - small file system helpers; all return 0 / a descriptor, or a negative errno. */
#pragma once

#include "base/buf.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

static inline void closedirp(DIR **d)
{
	if (*d)
		closedir(*d);
}

/* Appends the whole file to ret; -E2BIG beyond max bytes. */
int file_read(const char *path, size_t max, struct buf *ret);
/* The same from a descriptor, to its end. */
int file_read_fd(int fd, size_t max, struct buf *ret);
/* Reads the beginning of /proc/PID/NAME, NUL-terminated. Its length, or -errno. */
ssize_t file_of_process(pid_t pid, const char *name, char *ret, size_t size);
/* write(2) until all is out; handles EINTR and short writes. */
int file_write_all(int fd, const void *p, size_t n);
/* The same to a socket, by send(2): -EPIPE instead of SIGPIPE. */
int file_send_all(int fd, const void *p, size_t n);
/* The same at a place; the descriptor's own stays. */
int file_write_at(int fd, const void *p, size_t n, uint64_t offset);
/* All n bytes from a place; -EBADMSG: the file ends before. */
int file_read_at(int fd, void *p, size_t n, uint64_t offset);
/* Writes path.tmp and renames it over path. */
int file_replace(const char *path, const void *p, size_t n, mode_t mode);
/* Makes durable what path's own directory says of it. 0 also where a directory cannot be synced. */
int file_sync_name(const char *path);
/* mkdir -p; existing directories keep their mode. */
int file_mkdirs(const char *path, mode_t mode);
/* rm -r of what is below path and path itself, never following symbolic links. Missing is success. */
int file_remove_tree(const char *path);
/* Returns a descriptor, close-on-exec and at its start, of a file in memory with these bytes. It is sealed: a process of
 * another user that gets it cannot change them. name is shown in /proc. */
int file_sealed(const char *name, struct slice s);
/* Joins with '/'; the caller frees. */
char *file_join(const char *dir, const char *name);
/* The executable of this process; NULL: there is no /proc. The caller frees. */
char *file_own_program(void);
/* Where a program of ours is: what the variable names, else beside our own executable. NULL: it is not there, or cannot be
 * run. The caller frees. */
char *file_program(const char *variable, const char *name);
/* 2*bytes lower-case hex digits from getrandom(2), NUL-terminated. Returns out. */
char *random_hex(char *out, size_t bytes);
/* In memory of the block around it. */
#define RANDOM_HEX(bytes) random_hex((char[2 *(bytes) + 1]){ 0 }, bytes)

/* Whether one path lies in the tree of another, by their text alone. What comes of path after dir, without a slash at its beginning: "" if both are the same. NULL: path is elsewhere. Everything is
 * below "" and "/". Neither ends in a slash but "/". */
const char *path_below(const char *path, const char *dir);
