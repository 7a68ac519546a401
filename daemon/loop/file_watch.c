/*
 * file_watch.c - watches one path by inotify(7) on its directory, or on the nearest existing
 * directory above it.
 *
 * The directory is watched and not the file, because a writer that renames a new file into place
 * replaces the inode. While only an ancestor is watched, any event there moves the watch down.
 * inotify reports no events from before a watch exists. So file_watch_begin() repeats until the watch stays
 * where it is, and a move to the file's own directory counts as a possible change.
 */
#include "loop/file_watch.h"

#include "base/clock.h"
#include "base/util.h"

#include <limits.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/inotify.h>

#define OF_FILE (IN_CLOSE_WRITE | IN_MOVED_TO | IN_ATTRIB)
#define OF_DIR (IN_CREATE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

struct file_watch {
	struct loop_io io;
	char *dir, *name;
	int wd;	   /* -1: none */
	bool near; /* it is the file's own directory that is watched */
	void (*fn)(void *ctx);
	void *ctx;
};

/* The nearest directory that is there; false: not even the root. */
static bool watch_nearest(struct file_watch *w)
{
	_cleanup_(freep) char *at = xstrdup(w->dir);
	int wd;

	while ((wd = inotify_add_watch(w->io.fd, at, OF_FILE | OF_DIR)) < 0) {
		char *slash = strrchr(at, '/');

		if (!slash || !at[1])
			break;
		slash[slash == at] = '\0';
	}
	w->near = wd >= 0 && strcmp(at, w->dir) == 0;
	if (w->wd >= 0 && w->wd != wd)
		inotify_rm_watch(w->io.fd, w->wd);
	w->wd = wd;
	return wd >= 0;
}

/* Once more if that was not the file's own: the next one may have been made just before. */
void file_watch_begin(struct file_watch *w)
{
	int before;

	do
		before = w->wd;
	while (watch_nearest(w) && !w->near && w->wd != before);
}

/* True if the event is of the file, or may be. */
static bool event_is_of_file(struct file_watch *w, const struct inotify_event *ev)
{
	/* Events were dropped, perhaps of this file. */
	if (ev->mask & IN_Q_OVERFLOW)
		return true;
	if (ev->wd != w->wd)
		return false;
	if (!w->near || (ev->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED))) {
		w->wd = ev->mask & IN_IGNORED ? -1 : w->wd;
		file_watch_begin(w);
		return w->near;
	}
	return (ev->mask & OF_FILE) && ev->len && strcmp(ev->name, w->name) == 0;
}

/* True: it has been written since the last look. */
static bool file_watch_read(struct file_watch *w)
{
	char buf[sizeof(struct inotify_event) + NAME_MAX + 1]
		__attribute__((aligned(__alignof__(struct inotify_event))));
	bool changed = false;
	ssize_t n;

	while ((n = read(w->io.fd, buf, sizeof(buf))) > 0)
		for (const char *p = buf; p < buf + n;) {
			const struct inotify_event *ev = (const void *)p;

			changed = event_is_of_file(w, ev) || changed;
			p += sizeof(*ev) + ev->len;
		}
	return changed;
}

static void on_events(void *ctx, uint32_t events _unused_)
{
	struct file_watch *w = ctx;

	if (file_watch_read(w))
		w->fn(w->ctx);
}

bool file_watch_wait(struct file_watch *w, unsigned ms)
{
	struct pollfd p = { .fd = w->io.fd, .events = POLLIN };
	uint64_t end = clock_mono_ms() + ms, now;

	while (!file_watch_read(w)) {
		now = clock_mono_ms();
		if (now >= end)
			return false;
		(void)poll(&p, 1, (int)(end - now));
	}
	return true;
}

struct file_watch *file_watch_later(struct loop *l, const char *path, void (*fn)(void *ctx),
				    void *ctx)
{
	const char *slash = strrchr(path, '/');
	struct file_watch *w = new0(struct file_watch);

	w->dir = !slash ? xstrdup(".") : xstrndup(path, (size_t)MAX(slash - path, 1));
	w->name = xstrdup(slash ? slash + 1 : path);
	w->wd = -1;
	w->fn = fn;
	w->ctx = ctx;
	w->io = (struct loop_io){
		.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), .fn = on_events, .ctx = w, .loop = l
	};
	return w->io.fd < 0 || loop_io_set(l, &w->io, EPOLLIN) < 0 ? file_watch_free(w) : w;
}

struct file_watch *file_watch_new(struct loop *l, const char *path, void (*fn)(void *ctx),
				  void *ctx)
{
	struct file_watch *w = file_watch_later(l, path, fn, ctx);

	if (w)
		file_watch_begin(w);
	return w;
}

struct file_watch *file_watch_free(struct file_watch *w)
{
	if (!w)
		return NULL;
	loop_io_close(w->io.loop, &w->io);
	free_each(w->dir, w->name, w);
	return NULL;
}
