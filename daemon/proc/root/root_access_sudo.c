/* root_access_sudo.c - what sudoers lets the agent's user do without a password. */
#include "base/os/file.h"
#include "base/limits.h"
#include "proc/root/root_access_internal.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>

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

static bool is_ours(const struct sudo *s, const char *word, size_t n)
{
	const struct root_access_user *u = s->u;

	if ((n == 3 && memcmp(word, "ALL", 3) == 0) ||
	    (n == strlen(u->name) && memcmp(word, u->name, n) == 0))
		return true;
	if (n > 1 && word[0] == '#')
		return n - 1 == strlen(u->uid) && memcmp(word + 1, u->uid, n - 1) == 0;
	if (n > 2 && word[0] == '%' && word[1] == '#')
		return n - 2 == strlen(u->gid) && memcmp(word + 2, u->gid, n - 2) == 0;
	if (n > 1 && word[0] == '%')
		return root_access_in_group(u, word + 1, n - 1);
	for (size_t at = 0; at < s->names.len; at += strlen(s->names.data + at) + 1)
		if (strlen(s->names.data + at) == n && memcmp(s->names.data + at, word, n) == 0)
			return true;
	return false;
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
		ours |= is_ours(s, p, n);
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
	DIR *d = opendir(path);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		_cleanup_(freep) char *file = NULL;
		size_t n = strlen(e->d_name);

		if (strchr(e->d_name, '.') || e->d_name[n - 1] == '~') /* as sudo does */
			continue;
		file = file_join(path, e->d_name);
		sudo_file(s, file);
	}
	if (d)
		closedir(d);
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

void root_access_sudo(struct root_access *w, const struct root_access_user *u)
{
	_cleanup_(freep) char *path = file_join(u->etc, "sudoers");
	struct sudo s = { .w = w, .u = u, .aliases = true };

	sudo_file(&s, path);
	s.aliases = false;
	s.files = 0;
	sudo_file(&s, path);
	if (*s.where || (s.unasked && s.may))
		root_access_add(w, "SUDO_NOPASSWD", "sudo lets %s become another user unasked: %s",
				u->name, *s.where ? s.where : path);
	buf_done(&s.names);
}
