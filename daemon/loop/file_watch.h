/*
 * file_watch.h - tells when a file has been written or put in place: closed after writing, renamed to its name, or given
 * other rights. By inotify on its directory, so there need not be such a file yet; nor such a directory, of which the
 * nearest one is watched that is there. What the file holds is the owner's to judge. fn is called from the loop.
 */
#pragma once

#include "loop/loop.h"

struct file_watch;

/* NULL: the kernel has no inotify for us (errno). */
struct file_watch *file_watch_new(struct loop *l, const char *path, void (*fn)(void *ctx),
				  void *ctx);
/* The same, but it watches nothing before it is begun. */
struct file_watch *file_watch_later(struct loop *l, const char *path, void (*fn)(void *ctx),
				    void *ctx);
void file_watch_begin(struct file_watch *w);
struct file_watch *file_watch_free(struct file_watch *w);
/* The loop stands still until it has been written, for so long at most. fn is not called for that. True: it has been. */
bool file_watch_wait(struct file_watch *w, unsigned ms);
