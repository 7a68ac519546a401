/*
 * session_paths.c - creates a session's home, hands it to the session's user, and checks working
 * directories.
 *
 * The home has two phases. Until paths_fill_home it is the daemon's, and files are created by path.
 * After hand_over_home the agent controls it: the daemon then only renames directories away,
 * creates empty ones and writes programs through home_program.c, as the user. Access to cwd is
 * tested by entering it as that user.
 */
#include "session/workspace/session_paths.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "base/limits.h"
#include "json/jenc.h"
#include "session/harness/home_program.h"
#include "session/store/session_user.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

static int enter_as(const struct agent_user *user, const char *path, bool write)
{
	_cleanup_(closep) int fd = -1;
	struct stat sb;
	int r = 0;

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

/* Gives what is there to the session's user, link by link, following none. */
static int hand_over(const struct session *s, const char *path)
{
	return s->user.switched && lchown(path, s->user.uid, s->user.gid) < 0 ? -errno : 0;
}

static int make_dirs_for(const struct session *s, const char *relative)
{
	_cleanup_(freep) char *path = file_join(s->home, relative);
	int r = 0;

	for (char *p = path + strlen(s->home) + 1; r == 0 && (p = strchr(p, '/')); p++) {
		*p = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			r = -errno;
		else
			r = hand_over(s, path);
		*p = '/';
	}
	return r;
}

static int make_file(const struct session *s, const struct harness_env *f)
{
	_cleanup_(freep) char *path = file_join(s->home, f->name);
	int r = make_dirs_for(s, f->name);

	if (r == 0 && f->value)
		r = file_replace(path, f->value, strlen(f->value), 0600);
	else if (r == 0 && mkdir(path, 0700) < 0 && errno != EEXIST)
		r = -errno;
	return r < 0 ? r : hand_over(s, path);
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
	_cleanup_(freep) char *tmp = file_join(s->home, name);
	int r = removal_tree(s->store->removal, tmp);

	if (r < 0)
		return r;
	if (mkdir(tmp, 0700) < 0)
		return -errno;
	return hand_over(s, tmp);
}

/* Names in it are still ours to give, but what has been handed over below it can be reached. */
void paths_let_into_home(const struct session *s)
{
	if (s->user.switched)
		(void)chmod(s->home, 0711); /* if it fails, the next open fails and says so */
}

static int hand_over_home(const struct session *s)
{
	if (s->user.switched && chmod(s->home, 0700) < 0)
		return -errno;
	return hand_over(s, s->home);
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
	_cleanup_(closep) int home = open(s->home, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r = home < 0 ? -errno : 0;

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

void paths_put_head(struct session *s, struct buf *ret)
{
	_cleanup_(buf_done) struct buf b = { 0 }, hidden = { 0 };
	char now[CLOCK_ISO_SIZE];
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_str(&w, "sessionId", s->id);
	jw_str(&w, "incarnation", s->store->incarnation);
	jw_str(&w, "harness", s->def->id);
	jw_str(&w, "cwd", s->cwd);
	jw_str(&w, "created", clock_iso(s->updated_ms, now));
	session_user_note(s, &w);
	setup_put(&s->setup, &w);
	session_draft_put_record(s, &w);
	own_rules_note(&s->rules.own, &w, "rules");
	jw_end_obj(&w);
	buf_add_slice(ret, session_mask_json(s, buf_slice(&b), false, event_fields_head, &hidden));
}

void paths_note_head(struct session *s)
{
	_cleanup_(buf_done) struct buf head = { 0 };

	paths_put_head(s, &head);
	for (int i = 0; i < 2; i++) /* one may be damaged: without it there would be no session */
		evlog_note(&s->log.events, "session", buf_slice(&head));
}

char *paths_journal_path(const struct session_store *st, const char *id)
{
	_cleanup_(freep) char *dir = file_join(st->state_dir, "sessions");
	char name[128];

	snprintf(name, sizeof(name), "%s.jsonl", id);
	return file_join(dir, name);
}

/* A directory may be entered by the same bit. */
static bool is_program(const char *path)
{
	struct stat st;

	return access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

char *paths_find_command(const char *command, const char *path)
{
	const char *p = path ? path : "";

	if (strchr(command, '/'))
		return is_program(command) && command[0] == '/' ? xstrdup(command) : NULL;
	while (*p) {
		size_t n = strcspn(p, ":");
		_cleanup_(freep) char *dir = xstrndup(p, n);
		_cleanup_(freep) char *full = file_join(dir, command);

		if (n && is_program(full))
			return TAKE_PTR(full);
		p += n + (p[n] == ':');
	}
	return NULL;
}
