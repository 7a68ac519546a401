/*
 * root_access.c - searches accounts, sshd_config and sudoers for privilege escalation paths of the
 * agent's user.
 *
 * A false report is better than a missed one, so the parsers accept more than the real programs.
 * Files are bounded in size and includes in number, which also ends an include loop. A file that
 * exists and cannot be read sets `unread`. Outside of Match, sshd uses the first value of an option
 * (sshd_config(5)); within Match any "yes" is reported.
 */
#include "proc/users/root_access.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/os/file.h"
#include "base/util.h"

#include <ctype.h>
#include <dirent.h>
#include <glob.h>
#include <stdarg.h>
#include <strings.h>

struct root_access_user {
	const char *etc, *name;
	char uid[16], gid[16];
	struct buf groups; /* names, each with its NUL */
};

_printf_(3, 4) static void root_access_add(struct root_access *w, const char *kind, const char *fmt,
					   ...)
{
	va_list ap;

	if (w->n == ROOT_ACCESS_MAX)
		return;
	w->ways[w->n].kind = kind;
	va_start(ap, fmt);
	vsnprintf(w->ways[w->n].text, sizeof(w->ways[w->n].text), fmt, ap);
	va_end(ap);
	w->n++;
}

/* The file as NUL-terminated text; false: it is not there. One that may not be read is noted as unread. */
static bool root_access_text(struct root_access *w, const char *path, struct buf *ret)
{
	int r = file_read(path, ROOT_ACCESS_FILE_MAX, ret);

	w->unread |= r < 0 && r != -ENOENT && r != -ENOTDIR;
	return r >= 0 && buf_putc(ret, '\0') == 0;
}

/* path as written in a file below /etc, for the directory that stands for it. The caller frees. */
static char *root_access_path(const struct root_access_user *u, const char *base, const char *path)
{
	_cleanup_(freep) char *dir = file_join(u->etc, base);

	if (strncmp(path, "/etc/", 5) == 0)
		return file_join(u->etc, path + 5);
	return *path == '/' ? xstrdup(path) : file_join(dir, path);
}

/* The next line with those that continue it joined; NULL at the end. Changes the text. */
static char *take_joined_line(char **rest)
{
	char *line = *rest, *p = line, *out = line;

	if (!line || !*line)
		return NULL;
	for (; *p && *p != '\n'; p++) {
		if (p[0] == '\\' && p[1] == '\n')
			*out++ = ' ', p++;
		else
			*out++ = *p;
	}
	*rest = *p ? p + 1 : p;
	*out = '\0';
	return line;
}

/* Calls fn with each line of the file; fn may change it. */
static void root_access_lines(struct root_access *w, const char *path,
			      void (*fn)(void *ctx, char *line, const char *path), void *ctx)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	char *rest = root_access_text(w, path, &b) ? b.data : NULL, *line;

	while ((line = take_joined_line(&rest)))
		fn(ctx, line, path);
}

/* --- accounts ----------------------------------------------------------------------------------------------- */

/* Splits at colons; the number of fields. */
static size_t fields_of(char *line, char **fields, size_t max)
{
	size_t n = 0;

	while (line && n < max)
		fields[n++] = strsep(&line, ":");
	return n;
}

static bool lists(const char *list, const char *name)
{
	struct slice rest = slice_of(list), item;

	while (slice_item(&rest, ',', &item))
		if (slice_is(item, name))
			return true;
	return false;
}

/* names: each with its NUL. */
static bool is_among(const struct buf *names, struct slice name)
{
	for (size_t at = 0; at < names->len; at += strlen(names->data + at) + 1)
		if (slice_is(name, names->data + at))
			return true;
	return false;
}

static void read_groups(struct root_access *w, struct root_access_user *u)
{
	_cleanup_(freep) char *path = file_join(u->etc, "group");
	_cleanup_(buf_done) struct buf b = { 0 };
	char *rest, *line, *f[4];

	rest = root_access_text(w, path, &b) ? b.data : NULL;
	while ((line = take_joined_line(&rest)))
		if (fields_of(line, f, 4) == 4 &&
		    (strcmp(f[2], u->gid) == 0 || lists(f[3], u->name)))
			buf_add(&u->groups, f[0], strlen(f[0]) + 1);
}

static bool has_shell(const char *shell)
{
	const char *name = strrchr(shell, '/');

	name = name ? name + 1 : shell;
	return strcmp(name, "nologin") != 0 && strcmp(name, "false") != 0;
}

static bool shadow_is_empty(const char *shadow, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = shadow; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
		if (strncmp(p, name, n) == 0 && p[n] == ':')
			return p[n + 1] == ':';
	return false;
}

static void read_accounts(struct root_access *w, struct root_access_user *u)
{
	_cleanup_(freep) char *passwd = file_join(u->etc, "passwd"),
			      *shadow = file_join(u->etc, "shadow");
	_cleanup_(buf_done) struct buf b = { 0 }, hidden = { 0 };
	const char *hashes = root_access_text(w, shadow, &hidden) ? hidden.data : NULL;
	char *rest, *line, *f[7];

	rest = root_access_text(w, passwd, &b) ? b.data : NULL;
	while ((line = take_joined_line(&rest))) {
		if (fields_of(line, f, 7) < 7)
			continue;
		if (strcmp(f[0], u->name) == 0) {
			snprintf(u->uid, sizeof(u->uid), "%s", f[2]);
			snprintf(u->gid, sizeof(u->gid), "%s", f[3]);
		}
		if (has_shell(f[6]) && (!*f[1] || shadow_is_empty(hashes, f[0])))
			root_access_add(
				w, "EMPTY_PASSWORD",
				"%s has an empty password, so su and ssh let anybody in; passwd -l %s",
				f[0], f[0]);
	}
}

/* --- sshd --------------------------------------------------------------------------------------------------- */

struct sshd {
	struct root_access *w;
	const struct root_access_user *u;
	unsigned files;
	bool said, open, in_match; /* outside of Match blocks the first word counts */
};

static void sshd_file(struct sshd *s, const char *path);

static void sshd_include(struct sshd *s, const char *pattern)
{
	_cleanup_(freep) char *path = root_access_path(s->u, "ssh", pattern);
	glob_t g = { 0 };

	if (glob(path, 0, NULL, &g) == 0)
		for (size_t i = 0; i < g.gl_pathc; i++)
			sshd_file(s, g.gl_pathv[i]);
	globfree(&g);
}

static void sshd_line(void *ctx, char *line, const char *path _unused_)
{
	struct sshd *s = ctx;
	char *save = NULL, *key = strtok_r(line, " \t=\"", &save),
	     *value = key ? strtok_r(NULL, " \t=\"", &save) : NULL;

	if (!value || *key == '#')
		return;
	if (strcasecmp(key, "match") == 0)
		s->in_match = true;
	if (strcasecmp(key, "permitemptypasswords") == 0) {
		s->open |= (s->in_match || !s->said) && strcasecmp(value, "yes") == 0;
		s->said |= !s->in_match;
	}
	for (; strcasecmp(key, "include") == 0 && value; value = strtok_r(NULL, " \t\"", &save))
		sshd_include(s, value);
}

static void sshd_file(struct sshd *s, const char *path)
{
	if (s->files++ < ROOT_ACCESS_FILES_MAX)
		root_access_lines(s->w, path, sshd_line, s);
}

static void read_sshd(struct root_access *w, const struct root_access_user *u)
{
	_cleanup_(freep) char *path = file_join(u->etc, "ssh/sshd_config");
	struct sshd s = { .w = w, .u = u };

	sshd_file(&s, path);
	if (s.open)
		root_access_add(
			w, "SSHD_EMPTY_PASSWORDS",
			"sshd takes empty passwords; PermitEmptyPasswords no in sshd_config");
}

/* --- sudo ------------------------------------------------------------------------------------------------ */

/* what sudoers lets the agent's user do without a password. */
struct sudo {
	struct root_access *w;
	const struct root_access_user *u;
	unsigned files;
	bool aliases;	  /* the first reading: which aliases of users mean ours */
	struct buf names; /* those, each with its NUL */
	bool unasked;	  /* Defaults that ask nobody for a password */
	bool may;	  /* some rule is for our user */
	char where[100];  /* the file of the first one that needs no password */
};

static void sudo_file(struct sudo *s, const char *path);

static bool names_agent(const struct sudo *s, struct slice word)
{
	const struct root_access_user *u = s->u;

	if (slice_is(word, "ALL") || slice_is(word, u->name))
		return true;
	if (slice_skip(&word, "#"))
		return word.n && slice_is(word, u->uid);
	if (slice_skip(&word, "%#"))
		return word.n && slice_is(word, u->gid);
	if (slice_skip(&word, "%"))
		return is_among(&u->groups, word);
	return is_among(&s->names, word);
}

static const char *skip_blanks(const char *p)
{
	return p + strspn(p, " \t");
}

/* A list of users, "a, %b, ALL"; ret: what stands behind it. */
static bool names_us(const struct sudo *s, const char *p, const char **ret)
{
	bool ours = false;

	for (;;) {
		size_t n;

		p = skip_blanks(p);
		n = strcspn(p, " \t,=:");
		ours |= names_agent(s, (struct slice){ p, n });
		p = skip_blanks(p + n);
		if (*p != ',')
			break;
		p++;
	}
	*ret = p;
	return ours;
}

/* "NAME = users : NAME = users" */
static void read_aliases(struct sudo *s, const char *p)
{
	while (*(p = skip_blanks(p))) {
		size_t n = strcspn(p, " \t=");
		const char *users = skip_blanks(p + n), *rest;

		if (*users != '=')
			return;
		if (names_us(s, users + 1, &rest)) {
			buf_add(&s->names, p, n);
			buf_putc(&s->names, '\0');
		}
		if (*rest != ':')
			return;
		p = rest + 1;
	}
}

static void read_rule(struct sudo *s, const char *line, const char *path)
{
	const char *rest;

	if (!names_us(s, line, &rest) || !strchr(rest, '='))
		return;
	s->may = true;
	if (strstr(rest, "NOPASSWD:") && !*s->where)
		snprintf(s->where, sizeof(s->where), "%s", path);
}

static void sudo_dir(struct sudo *s, const char *path)
{
	_cleanup_(closedirp) DIR *d = opendir(path);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		_cleanup_(freep) char *file = NULL;
		size_t n = strlen(e->d_name);

		if (strchr(e->d_name, '.') || e->d_name[n - 1] == '~') /* as sudo does */
			continue;
		file = file_join(path, e->d_name);
		sudo_file(s, file);
	}
}

/* "@includedir path", or with the old '#'. */
static bool included(struct sudo *s, const char *line)
{
	_cleanup_(freep) char *name = NULL, *path = NULL;
	bool dir = strncmp(line + 1, "includedir", 10) == 0;
	const char *p = line + (dir ? 11 : 8);

	if ((*line != '@' && *line != '#') || strncmp(line + 1, "include", 7) != 0)
		return false;
	p = skip_blanks(p);
	name = xstrndup(p, strcspn(p, " \t"));
	path = root_access_path(s->u, "", name);
	if (dir)
		sudo_dir(s, path);
	else
		sudo_file(s, path);
	return true;
}

/* A '#' begins a comment unless a number follows, which is a uid. */
static void drop_comment(char *line)
{
	for (char *p = line; (p = strchr(p, '#')); p++)
		if (!isdigit((unsigned char)p[1]) && (p == line || p[-1] != '%')) {
			*p = '\0';
			return;
		}
}

static void sudo_line(void *ctx, char *line, const char *path)
{
	struct sudo *s = ctx;

	line = (char *)skip_blanks(line);
	if (included(s, line))
		return;
	drop_comment(line);
	if (strncmp(line, "User_Alias", 10) == 0 && s->aliases)
		read_aliases(s, line + 10);
	else if (strncmp(line, "Defaults", 8) == 0)
		s->unasked |= strstr(line, "!authenticate") != NULL;
	else if (!s->aliases && !strstr(line, "_Alias"))
		read_rule(s, line, path);
}

static void sudo_file(struct sudo *s, const char *path)
{
	if (s->files++ < ROOT_ACCESS_FILES_MAX)
		root_access_lines(s->w, path, sudo_line, s);
}

static void root_access_sudo(struct root_access *w, const struct root_access_user *u)
{
	_cleanup_(freep) char *path = file_join(u->etc, "sudoers");
	struct sudo s = { .w = w, .u = u, .aliases = true };

	/* Twice: an alias may be defined after the rule that uses it. */
	sudo_file(&s, path);
	s.aliases = false;
	s.files = 0;
	sudo_file(&s, path);
	if (*s.where || (s.unasked && s.may))
		root_access_add(w, "SUDO_NOPASSWD", "sudo lets %s become another user unasked: %s",
				u->name, *s.where ? s.where : path);
	buf_done(&s.names);
}

/* --- all of them --------------------------------------------------------------------------------------------- */

void root_access_find(struct root_access *ret, const char *etc, const char *user)
{
	struct root_access_user u = { .etc = etc, .name = user };

	*ret = (struct root_access){ 0 };
	read_accounts(ret, &u);
	read_groups(ret, &u);
	if (strcmp(u.uid, "0") == 0)
		root_access_add(ret, "AGENT_IS_ROOT",
				"agents run as root; --agent-user names another user");
	else
		root_access_sudo(ret, &u);
	read_sshd(ret, &u);
	buf_done(&u.groups);
}
