/*
 * session_paths.c - creates a session's home, hands it to the session's user, and checks working
 * directories.
 *
 * The home has two phases. Until paths_fill_home it is the daemon's: its own entries are created by
 * root and handed over at once, and everything below them is created as the user, because other
 * sessions of that uid can reach it. After hand_over_home the agent controls all of it: the daemon
 * then only renames directories away, and creates empty ones and programs as the user. Access to
 * cwd is tested by entering it as that user.
 */
#include "session/core/session_paths.h"

#include "base/os/file.h"
#include "json/jenc.h"
#include "session/core/home_program.h"
#include "session/core/session_part.h"

static int enter_as(const struct agent_user *user, const char *path, bool write)
{
	_cleanup_(closep) int fd = -1;
	struct stat sb;
	int r = 0;

	/* Permissions are those of the user: root could enter where the harness cannot. */
	agent_user_enter(user);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstatat(fd, ".", &sb, 0) < 0 ||
	    (write && faccessat(fd, ".", W_OK, AT_EACCESS) < 0))
		r = -errno;
	agent_user_leave(user);
	return r;
}

int paths_check_cwd(const struct agent_user *user, const char *cwd, struct err *e)
{
	int r;

	if (cwd[0] != '/')
		return err_field(e, "cwd", "CWD_NOT_ABSOLUTE", "cwd must be an absolute path");
	r = enter_as(user, cwd, false);
	if (r == -ENOENT)
		return err_field(e, "cwd", "CWD_NOT_FOUND",
				 "cwd does not exist in the sandbox; create it, or pass "
				 "_meta.acpd.workspace {ephemeral: true} for a new one: %s",
				 cwd);
	if (r == -ENOTDIR)
		return err_field(e, "cwd", "CWD_NOT_DIRECTORY", "cwd is not a directory");
	if (r < 0)
		return err_field(e, "cwd", "CWD_NOT_ACCESSIBLE",
				 "the user that runs the harness cannot enter cwd: %s",
				 strerror(-r));
	return 0;
}

/* An empty directory could be replaced by one of the agent's, but nobody asked for it to be handed over. */
int paths_check_writable(const struct agent_user *user, const char *cwd, struct err *e)
{
	int r = user->switched ? enter_as(user, cwd, true) : 0;

	if (r < 0)
		return err_field(e, "cwd", "CWD_NOT_WRITABLE",
				 "the user that runs the harness cannot write in cwd (%s); "
				 "workspace.chown hands it over",
				 strerror(-r));
	return 0;
}

static char *home_path(const struct session_store *st, const char *id)
{
	_cleanup_(freep) char *homes = file_join(st->state_dir, "homes");

	return file_join(homes, id);
}

int paths_find_home(struct session *s)
{
	struct stat sb;

	s->home = home_path(s->store, s->id);
	if (lstat(s->home, &sb) == 0 && S_ISDIR(sb.st_mode))
		return 0;
	/* The harness has lost its context, but the session can be used: with an empty home. */
	return mkdir(s->home, 0700) < 0 ? -errno : -ENOENT;
}

int paths_session_home(const struct session_store *st, const char *id, char **ret, struct err *e)
{
	_cleanup_(freep) char *home = home_path(st, id);

	if (mkdir(home, 0700) < 0)
		return err_set(e, -errno, RPC_INTERNAL_ERROR,
			       errno == ENOSPC || errno == EDQUOT ? "NO_SPACE" :
								    "STATE_NOT_WRITABLE",
			       "cannot make the session's home: %s", strerror(errno));
	*ret = TAKE_PTR(home);
	return 0;
}

static int open_home(const struct session *s)
{
	int fd = open(s->home, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* True if the session's user controls the entries of its home. */
static bool is_given(const struct session *s, int home)
{
	struct stat sb;

	/* If fstat fails, the safer answer: then nothing is created with the rights of root. */
	return !s->user.switched || fstat(home, &sb) < 0 || sb.st_uid == s->user.uid;
}

/* While the home is the daemon's, no other process can exchange its entries. */
static int make_top(const struct session *s, int home, const char *name)
{
	if (mkdirat(home, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	return fchownat(home, name, s->user.uid, s->user.gid, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

static int make_top_file(const struct session *s, const struct harness_env *f)
{
	_cleanup_(freep) char *path = file_join(s->home, f->name);
	/* As root: the home is still the daemon's, so nobody else can plant a link here. */
	int r = file_replace(path, f->value, strlen(f->value), 0600);

	if (r < 0)
		return r;
	return lchown(path, s->user.uid, s->user.gid) < 0 ? -errno : 0;
}

/* Acts as the session's user, who controls dir and may have planted links. */
static int make_below(const struct session *s, int dir, const char *name, const char *text)
{
	int r;

	agent_user_enter(&s->user);
	r = text ? home_program_keep(dir, name, text) : home_program_dir(dir, name);
	agent_user_leave(&s->user);
	return r;
}

static int make_file(const struct session *s, const struct harness_env *f)
{
	_cleanup_(closep) int home = open_home(s), top = -1;
	size_t n = strcspn(f->name, "/");
	_cleanup_(freep) char *name = xstrndup(f->name, n);
	int r;

	if (home < 0)
		return home;
	if (is_given(s, home))
		return make_below(s, home, f->name, f->value);
	if (f->value && !f->name[n])
		return make_top_file(s, f);
	r = make_top(s, home, name);
	if (r < 0 || !f->name[n])
		return r;
	top = openat(home, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return top < 0 ? -errno : make_below(s, top, f->name + n + 1, f->value);
}

int paths_make_dir(struct session *s, const char *relative, struct err *e)
{
	struct harness_env dir = { .name = (char *)relative };
	int r = make_file(s, &dir);

	if (r < 0)
		return err_set(e, r, RPC_INTERNAL_ERROR, "STATE_NOT_WRITABLE",
			       "cannot prepare the session's home: %s", strerror(-r));
	return 0;
}

int paths_fresh_dir(const struct session *s, const char *name)
{
	_cleanup_(freep) char *old = file_join(s->home, name);
	_cleanup_(closep) int home = open_home(s);
	int r = home < 0 ? home : removal_tree(s->store->removal, old);

	if (r < 0)
		return r;
	if (!is_given(s, home))
		return make_top(s, home, name);
	/* A directory made by root would have to be handed over, and the user could exchange it before. */
	agent_user_enter(&s->user);
	r = mkdirat(home, name, 0700) < 0 ? -errno : 0;
	agent_user_leave(&s->user);
	return r;
}

/* Names in it are still ours to give, but what has been handed over below it can be reached. */
void paths_let_into_home(const struct session *s)
{
	if (s->user.switched)
		(void)chmod(s->home, 0711); /* if it fails, the next open fails and says so */
}

static int hand_over_home(const struct session *s)
{
	if (s->user.switched &&
	    (chmod(s->home, 0700) < 0 || lchown(s->home, s->user.uid, s->user.gid) < 0))
		return -errno;
	return 0;
}

int paths_give_home(struct session *s, struct err *e)
{
	int r = hand_over_home(s);

	if (r < 0)
		return err_set(e, r, RPC_INTERNAL_ERROR, "STATE_NOT_WRITABLE",
			       "cannot hand over the session's home: %s", strerror(-r));
	return 0;
}

/* As the session's user, whose home it is by now. */
static int keep_programs(const struct session *s, const struct harness_plan *plan)
{
	_cleanup_(closep) int home = open_home(s);
	int r = home < 0 ? home : 0;

	/* `home` is held open: the path cannot lead elsewhere while the user acts. */
	agent_user_enter(&s->user);
	for (size_t i = 0; r == 0 && i < plan->nprograms; i++)
		r = home_program_keep(home, plan->programs[i].name, plan->programs[i].value);
	agent_user_leave(&s->user);
	return r;
}

int paths_fill_home(struct session *s, const struct harness_plan *plan, struct err *e)
{
	int r = paths_fresh_dir(s, "tmp");

	for (size_t i = 0; r == 0 && !s->harness.home_filled && i < plan->nfiles; i++)
		r = make_file(s, &plan->files[i]);
	/* Once: after this the agent owns its files, and the daemon does not write them again. */
	if (r == 0 && !s->harness.home_filled)
		r = hand_over_home(s);
	if (r == 0)
		r = keep_programs(s, plan);
	if (r < 0)
		return err_set(e, r, RPC_INTERNAL_ERROR, "STATE_NOT_WRITABLE",
			       "cannot prepare the session's home: %s", strerror(-r));
	s->harness.home_filled = true;
	return 0;
}

char *paths_run(const struct session_store *st, const char *id, const char *name)
{
	_cleanup_(freep) char *all = file_join(st->state_dir, "runs"), *dir = file_join(all, id);

	return name ? file_join(dir, name) : TAKE_PTR(dir);
}

char *paths_journal_path(const struct session_store *st, const char *id)
{
	_cleanup_(freep) char *dir = file_join(st->state_dir, "sessions");

	return file_join(dir, SHORT_TEXT(128, "%s.jsonl", id));
}

/* A directory may be entered by the same bit. */
static bool path_is_program(const char *path)
{
	struct stat st;

	return access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

char *paths_find_command(const char *command, const char *path)
{
	const char *p = path ? path : "";

	/* A relative path would depend on the working directory of the daemon. */
	if (strchr(command, '/'))
		return path_is_program(command) && command[0] == '/' ? xstrdup(command) : NULL;
	while (*p) {
		size_t n = strcspn(p, ":");
		_cleanup_(freep) char *dir = xstrndup(p, n);
		_cleanup_(freep) char *full = file_join(dir, command);

		/* An empty entry of PATH means the working directory (POSIX). It is skipped. */
		if (n && path_is_program(full))
			return TAKE_PTR(full);
		p += n + (p[n] == ':');
	}
	return NULL;
}

char *paths_find_program(const struct harness_def *def, const char *prefix, const char *path)
{
	_cleanup_(freep) char *own = NULL;

	if (prefix && !def->own_command) {
		own = xprintf("%s/%s/bin/%s", prefix, def->id, def->command);
		if (path_is_program(own))
			return TAKE_PTR(own);
	}
	return paths_find_command(def->command, path);
}
