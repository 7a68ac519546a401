/* SPDX-License-Identifier: Apache-2.0 */
/* Directives that report what the host gave us: environment, directory, descriptors, params. */
#include "stub.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void do_env(struct session *s, struct prompt *p, char *arg)
{
	const char *name = next_word(&arg), *value = getenv(name);

	(void)p;
	if (value)
		say(s, "env:%s=%s", name, value);
	else
		say(s, "env:%s (unset)", name);
}

static void do_environ(struct session *s, struct prompt *p, char *arg)
{
	struct buf b = { 0 };

	(void)p;
	(void)arg;
	buf_str(&b, "{");
	for (char **e = environ; e && *e; e++) {
		char *pair = xstrdup(*e), *eq = strchr(pair, '=');

		if (eq) {
			*eq = '\0';
			buf_str(&b, b.len > 1 ? "," : "");
			buf_json(&b, pair);
			buf_str(&b, ":");
			buf_json(&b, eq + 1);
		}
		free(pair);
	}
	buf_add(&b, "}", 2);
	emit_text(s, b.p);
	buf_free(&b);
}

static void do_cwd(struct session *s, struct prompt *p, char *arg)
{
	char *dir = getcwd(NULL, 0);

	(void)p;
	(void)arg;
	say(s, "cwd:%s", dir ? dir : "?");
	free(dir);
}

static void do_fds(struct session *s, struct prompt *p, char *arg)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	struct buf b = { 0 };

	(void)p;
	(void)arg;
	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.' || atoi(e->d_name) == dirfd(d))
			continue;
		buf_printf(&b, "%s%s", b.len ? "," : "", e->d_name);
	}
	if (d)
		closedir(d);
	buf_add(&b, "", 1);
	say(s, "fds:%s", b.p);
	buf_free(&b);
}

static void do_self(struct session *s, struct prompt *p, char *arg)
{
	(void)p;
	(void)arg;
	say(s, "self:%d", (int)getpid());
}

static void do_ids(struct session *s, struct prompt *p, char *arg)
{
	(void)p;
	(void)arg;
	say(s, "ids:uid=%d gid=%d sid=%d pgid=%d", (int)getuid(), (int)getgid(), (int)getsid(0),
	    (int)getpgid(0));
}

static void do_meta(struct session *s, struct prompt *p, char *arg)
{
	(void)arg;
	emit_text(s, p->meta ? p->meta : "null");
}

static void do_getparams(struct session *s, struct prompt *p, char *arg)
{
	(void)p;
	(void)arg;
	emit_text(s, s->params ? s->params : "null");
}

static void do_clientcaps(struct session *s, struct prompt *p, char *arg)
{
	(void)p;
	(void)arg;
	emit_text(s, peer.caps_json ? peer.caps_json : "null");
}

static void do_blocks(struct session *s, struct prompt *p, char *arg)
{
	(void)arg;
	say(s, "blocks:%s", p->kinds);
}

static void do_content(struct session *s, struct prompt *p, char *arg)
{
	(void)arg;
	emit_text(s, p->content);
}

static void do_stderr(struct session *s, struct prompt *p, char *arg)
{
	(void)s;
	(void)p;
	dprintf(2, "%s\n", unescape(arg));
}

static void do_stderrflood(struct session *s, struct prompt *p, char *arg)
{
	long n = atol(next_word(&arg));

	(void)s;
	(void)p;
	for (long i = 1; i <= n; i++) {
		if (dprintf(2, "stub stderr line %010ld %060d\n", i, 0) < 0)
			return;
	}
}

/* As the tools of an agent run commands: what it prints, after how it ended. */
static void do_run(struct session *s, struct prompt *p, char *arg)
{
	struct buf out_text = { 0 };
	char chunk[4096], *command = NULL;
	size_t n;
	FILE *f;

	(void)p;
	out_flush(); /* what was said before is heard before */
	if (asprintf(&command, "exec 2>&1 </dev/null\n%s", arg) < 0)
		abort();
	f = popen(command, "re");
	free(command);
	while (f && (n = fread(chunk, 1, sizeof(chunk), f)) > 0)
		buf_add(&out_text, chunk, n);
	buf_add(&out_text, "", 1);
	say(s, "run:%d:%s", f ? WEXITSTATUS(pclose(f)) : -1, out_text.p);
	buf_free(&out_text);
}

const struct directive probe_directives[] = {
	{ "env", true, do_env },
	{ "environ", false, do_environ },
	{ "cwd", false, do_cwd },
	{ "fds", false, do_fds },
	{ "self", false, do_self },
	{ "ids", false, do_ids },
	{ "meta", false, do_meta },
	{ "getparams", false, do_getparams },
	{ "clientcaps", false, do_clientcaps },
	{ "blocks", false, do_blocks },
	{ "content", false, do_content },
	{ "stderr", true, do_stderr },
	{ "stderrflood", true, do_stderrflood },
	{ "run", true, do_run },
	{ NULL, false, NULL },
};
