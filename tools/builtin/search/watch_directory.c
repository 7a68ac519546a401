/* watch_directory.c - watchDirectory: what happens in a directory for a while. */
#include "tools/builtin/search/watched_dirs.h"

#include "base/util.h"
#include "base/clock.h"
#include "base/limits.h"
#include "tools/builtin/files/file_describe.h"
#include "tools/builtin/core/tool.h"

#include <poll.h>
#include <sys/inotify.h>
#include <time.h>

#define LOOK_MS 100	 /* between two checks whether the call is to end */
#define DRAIN_READS 4096 /* of what has come in time */
#define PAIR_MS 20	 /* the second half of a rename comes at once, or never */

struct pending {
	char *name;
	uint64_t due;
};

struct directory_watch {
	struct builtin_call *call;
	struct watched_dirs dirs;
	uint64_t debounce;
	int64_t most, told;
	bool overflow, gone;
	struct pending *writes; /* that may come again at once */
	size_t nwrites;
	char *moved; /* first half of a rename */
	uint32_t cookie;
	bool moved_dir;
	uint64_t moved_due;
	struct jw *w; /* in the array of events */
};

/* --- reports -------------------------------------------------------------------- */

static bool hidden_by_policy(struct directory_watch *s, const char *name)
{
	_cleanup_(freep) char *real = xprintf("%s/%s", s->dirs.start.real, name);

	return tool_path_judge(s->call, real, TOOL_PATH_STAT, NULL) < 0;
}

/* False: it is hidden, or the result is full. */
static bool watch_emit(struct directory_watch *s, const char *type, const char *name,
		       const char *old)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	struct timespec now;

	if (s->told == s->most || (*name && hidden_by_policy(s, name)))
		return false;
	clock_gettime(CLOCK_REALTIME, &now);
	jw_obj(s->w, NULL);
	jw_str(s->w, "type", type);
	name_put(s->w, "name", name);
	if (old)
		name_put(s->w, "oldName", old);
	jw_int(s->w, "timestamp", now.tv_sec * 1000LL + now.tv_nsec / 1000000);
	jw_end_obj(s->w);
	s->told++;
	buf_printf(&text, "%s %s%s%s", type, old ? old : name, old ? " -> " : "", old ? name : "");
	tool_progress(s->call, (double)s->told, 0, buf_slice(&text));
	return true;
}

static void write_flush(struct directory_watch *s, size_t i)
{
	watch_emit(s, "write", s->writes[i].name, NULL);
	free(s->writes[i].name);
	memmove(s->writes + i, s->writes + i + 1, (s->nwrites - i - 1) * sizeof(*s->writes));
	s->nwrites--;
}

/* A write is reported before anything else of the same name. */
static void flush_name(struct directory_watch *s, const char *name)
{
	for (size_t i = 0; i < s->nwrites; i++)
		if (strcmp(s->writes[i].name, name) == 0) {
			write_flush(s, i);
			return;
		}
}

static void flush_due(struct directory_watch *s, uint64_t now)
{
	for (size_t i = 0; i < s->nwrites;)
		if (s->writes[i].due <= now)
			write_flush(s, i);
		else
			i++;
}

static void watch_on_write(struct directory_watch *s, const char *name)
{
	uint64_t due = clock_mono_ms() + s->debounce;

	for (size_t i = 0; i < s->nwrites; i++)
		if (strcmp(s->writes[i].name, name) == 0) {
			s->writes[i].due = due;
			return;
		}
	/* Reports the oldest write early, so the list of pending writes has a limit. */
	if (s->nwrites == TOOL_WATCH_EVENTS_MAX)
		write_flush(s, 0);
	*GROW(s->writes, s->nwrites) = (struct pending){ xstrdup(name), due };
}

/* --- what the kernel says ------------------------------------------------------------- */

static bool watch_on_found(void *ctx, const char *path)
{
	return watch_emit(ctx, "create", path, NULL);
}

static void watch_on_made(struct directory_watch *s, const char *name, bool is_dir)
{
	if (s->told == s->most || watched_dirs_was_found(&s->dirs, name))
		return;
	watch_emit(s, "create", name, NULL);
	/* Names that were made in it before its watch have no event, so the new directory is
	 * walked. */
	if (is_dir)
		watched_dirs_add(&s->dirs, name, watch_on_found, s);
}

/* A first half whose second did not come: it left. */
static void moved_out(struct directory_watch *s)
{
	_cleanup_(freep) char *name = TAKE_PTR(s->moved);

	if (!name)
		return;
	watch_emit(s, "remove", name, NULL);
	if (s->moved_dir)
		watched_dirs_move(&s->dirs, name, NULL);
}

static void on_moved_from(struct directory_watch *s, const struct inotify_event *ev,
			  const char *name)
{
	moved_out(s);
	s->moved = xstrdup(name);
	s->cookie = ev->cookie;
	s->moved_dir = ev->mask & IN_ISDIR;
	s->moved_due = clock_mono_ms() + PAIR_MS;
}

static void on_moved_to(struct directory_watch *s, const struct inotify_event *ev, const char *name)
{
	_cleanup_(freep) char *old = NULL;

	/* The name comes from outside of the watched directories: for the caller it is new. */
	if (!s->moved || s->cookie != ev->cookie) {
		moved_out(s);
		watch_on_made(s, name, ev->mask & IN_ISDIR);
		return;
	}
	old = TAKE_PTR(s->moved);
	watch_emit(s, "rename", name, old);
	if (s->moved_dir)
		watched_dirs_move(&s->dirs, old, name);
}

static void on_overflow(struct directory_watch *s)
{
	s->overflow = true;
	watch_emit(s, "overflow", "", NULL);
	watched_dirs_add(&s->dirs, "", NULL, NULL); /* directories that came meanwhile */
}

static void on_name(struct directory_watch *s, const struct inotify_event *ev, const char *name)
{
	if (!(ev->mask & (IN_MODIFY | IN_CLOSE_WRITE)))
		flush_name(s, name);
	if (ev->mask & IN_CREATE)
		watch_on_made(s, name, ev->mask & IN_ISDIR);
	else if (ev->mask & (IN_MODIFY | IN_CLOSE_WRITE))
		watch_on_write(s, name);
	else if (ev->mask & IN_DELETE)
		watch_emit(s, "remove", name, NULL);
	else if (ev->mask & IN_ATTRIB)
		watch_emit(s, "chmod", name, NULL);
	else if (ev->mask & IN_MOVED_FROM)
		on_moved_from(s, ev, name);
	else if (ev->mask & IN_MOVED_TO)
		on_moved_to(s, ev, name);
}

/* Of a directory itself. Its parent says the same, except of the beginning. */
static void on_self(struct directory_watch *s, const struct inotify_event *ev, const char *dir)
{
	if (!*dir && (ev->mask & (IN_DELETE_SELF | IN_MOVE_SELF))) {
		watch_emit(s, "remove", "", NULL);
		s->gone = true;
	}
	if (ev->mask & IN_IGNORED)
		watched_dirs_drop(&s->dirs, ev->wd);
}

static void watch_on_event(struct directory_watch *s, const struct inotify_event *ev)
{
	const char *dir = watched_dirs_path(&s->dirs, ev->wd);
	_cleanup_(freep) char *name = NULL;

	if (ev->mask & IN_Q_OVERFLOW) {
		on_overflow(s);
		return;
	}
	/* The two events of a rename are usually adjacent (inotify(7)), so after any other event
	 * the second one is not expected. */
	if (s->moved && !(ev->mask & IN_MOVED_TO))
		moved_out(s);
	/* A late event of a watch that was removed. */
	if (!dir)
		return;
	if (!ev->len || ev->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED)) {
		on_self(s, ev, dir);
		return;
	}
	name = xprintf("%s%s%s", dir, *dir ? "/" : "", ev->name);
	on_name(s, ev, name);
}

/* False: there is nothing to read. */
static bool watch_read_events(struct directory_watch *s)
{
	/* read(2) fails with EINVAL if the next event does not fit; one needs at most its header
	 * and NAME_MAX + 1 bytes (inotify(7)). */
	char room[16 * KIB] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t n = read(s->dirs.fd, room, sizeof(room));

	for (ssize_t at = 0; at < n;) {
		const struct inotify_event *ev = (const struct inotify_event *)(room + at);

		watch_on_event(s, ev);
		at += (ssize_t)(sizeof(*ev) + ev->len);
	}
	return n > 0;
}

/* --- the tool -------------------------------------------------------------------------- */

/* The kernel reports the deletion of a directory only when it is not open any more, but we have it open. */
static void look_at_root(struct directory_watch *s)
{
	struct stat sb;

	if (s->gone || fstat(s->dirs.start.fd, &sb) < 0 || sb.st_nlink)
		return;
	while (watch_read_events(s)) /* what was in it went before */
		;
	moved_out(s);
	flush_due(s, UINT64_MAX);
	watch_emit(s, "remove", "", NULL);
	s->gone = true;
}

/* Reads events that came in time but were not read yet. */
static void read_rest(struct directory_watch *s)
{
	/* Limited, because a busy directory may create events as fast as they are read. */
	for (int i = 0; i < DRAIN_READS && !s->gone && s->told < s->most; i++)
		if (!watch_read_events(s))
			break;
	moved_out(s);
	flush_due(s, UINT64_MAX);
}

static int wait_ms(const struct directory_watch *s, uint64_t now, uint64_t until)
{
	uint64_t next = MIN(until, now + LOOK_MS);

	for (size_t i = 0; i < s->nwrites; i++)
		next = MIN(next, s->writes[i].due);
	if (s->moved)
		next = MIN(next, s->moved_due);
	return next > now ? (int)(next - now) : 0;
}

static void watch_until(struct directory_watch *s, uint64_t until)
{
	uint64_t now;

	while ((now = clock_mono_ms()) < until && !s->gone && s->told < s->most &&
	       !tool_cancelled(s->call)) {
		struct pollfd p = { .fd = s->dirs.fd, .events = POLLIN };

		if (poll(&p, 1, wait_ms(s, now, until)) > 0)
			watch_read_events(s);
		look_at_root(s);
		now = clock_mono_ms();
		flush_due(s, now);
		if (s->moved && s->moved_due <= now)
			moved_out(s);
	}
	read_rest(s);
	look_at_root(s);
}

static int watch_directory(struct builtin_call *c, struct jw *w, struct err *e)
{
	_cleanup_(freep) char *path = tool_arg_str(c, "path");
	struct directory_watch s = { .call = c,
				     .most = tool_arg_int(c, "maxEvents", 0),
				     .debounce = (uint64_t)tool_arg_int(c, "debounce", 0),
				     .dirs = { .call = c,
					       .fd = -1,
					       .recursive = tool_arg_bool(c, "recursive", false),
					       .gitignore = tool_arg_bool(c, "gitignore", true) },
				     .w = w };
	uint64_t until = clock_mono_ms() + (uint64_t)tool_arg_int(c, "watchDuration", 0);
	int r = tool_path_find(c, path, TOOL_PATH_STAT, &s.dirs.start, e);

	if (r == 0 && !S_ISDIR(s.dirs.start.sb.st_mode))
		r = tool_errno(e, ENOTDIR, "cannot watch", path);
	if (r == 0)
		r = watched_dirs_open(&s.dirs, e);
	jw_bool(w, "watchStarted", true);
	jw_str(w, "path", path);
	jw_arr(w, "events");
	if (r == 0) {
		tool_progress(c, 0, 0, SLICE("watching"));
		watch_until(&s, until);
	}
	jw_end_arr(w);
	jw_bool(w, "overflow", s.overflow || s.told == s.most);
	jw_bool(w, "partial", clock_mono_ms() < until);
	jw_int(w, "directories", (int64_t)s.dirs.n);
	free(s.writes);
	watched_dirs_done(&s.dirs);
	return r;
}

static const struct tool_field in[] = {
	TF_STRING("path", TOOL_REQUIRED, PATH_TEXT),
	TF_BOOL("recursive", 0, "directories below, too, also new ones", .fallback = "false"),
	TF_INT("watchDuration", 0, "in ms", .min = 1, .max = TOOL_WATCH_MS_MAX,
	       .fallback = NUMBER(TOOL_WATCH_MS)),
	TF_INT("debounce", 0, "writes to one file are told once it was quiet for so many ms",
	       .max = 10000, .fallback = "50"),
	TF_BOOL("gitignore", 0,
		"directories that .gitignore files exclude, and .git, are not watched",
		.fallback = "true"),
	TF_INT("maxEvents", 0, "ends after so many", .min = 1, .max = TOOL_WATCH_EVENTS_MAX,
	       .fallback = "1000"),
	{ 0 },
};

static const char *const event_words[] = { "create", "write",	 "remove", "rename",
					   "chmod",  "overflow", NULL };

static const struct tool_field event_out[] = {
	TF_STRING("type", TOOL_REQUIRED, "overflow: events were lost here, look for yourself",
		  .words = event_words),
	TF_STRING("name", TOOL_REQUIRED, "path from the directory; empty: itself"),
	TF_STRING("nameBase64", 0, "its bytes, if they are no UTF-8"),
	TF_STRING("oldName", 0, "rename: from where"),
	TF_STRING("oldNameBase64", 0, "its bytes, if they are no UTF-8"),
	TF_INT("timestamp", TOOL_REQUIRED, "ms since 1970"),
	{ 0 },
};

static const struct tool_field out_fields[] = {
	TF_BOOL("watchStarted", TOOL_REQUIRED, "true"),
	TF_STRING("path", TOOL_REQUIRED, "as it was given"),
	TF_OBJECTS("events", TOOL_REQUIRED, "in their order", .sub = event_out),
	TF_BOOL("overflow", 0, "events were lost, or there may be more than maxEvents"),
	TF_BOOL("partial", 0, "it ended before watchDuration was over"),
	TF_INT("directories", 0, "how many were watched"),
	{ 0 },
};

const struct builtin_tool watch_tools[] = {
	BUILTIN_TOOL(
		"watchDirectory", "Watch a directory",
		"Waits and tells what is made, written, renamed and removed in a directory; each event is also a progress notification.",
		CATEGORY_READ, HINT_READ_ONLY, in, out_fields, .result = watch_directory,
		.waits = true),
	{ 0 },
};
