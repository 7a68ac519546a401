/*
 * policy_programs.c - programs that run others, and what each of them runs: a table of 121 names and their options.
 *
 * Why a table, and not a simpler rule. To judge `timeout -k 1 -s KILL 5 rm -rf /` or `env -u A git status`, one must
 * know where the inner command begins, and that depends on which options take a value. Without the options, 15 rows
 * of tests/unit/policy/test_policy_command.c that are denied would only ask, and one that is allowed would ask.
 * Looking for denied words anywhere would keep the denials, but cannot find what is allowed.
 * A launcher with an unlisted option counts as "sh"; of OPTIONS only those that are listed run programs. A program
 * that is not named here hides the one that it runs.
 */
#include "policy/policy_internal.h"

#include "tree/glob.h"

enum program_kind {
	RUNS,	  /* its arguments, after its options, are a command */
	ELEVATES, /* the same, with other rights: counts as "sh" besides */
	SHELL,	  /* -c TEXT */
	EVAL,	  /* its words are shell text */
	FIND,
	SED,
	XARGS,
	CODE,	  /* an interpreter: code among its arguments or on its input counts as "sh" */
	ANYTHING, /* counts as "sh" with any arguments */
	OPTIONS,  /* some of its options run programs */
	EXPORTS,  /* sets variables */
};

struct program {
	const char *names; /* globs, between spaces */
	enum program_kind kind;
	const char *flags,
		*values; /* options without and with a value, between spaces; CODE: letters of inline code in flags */
	unsigned skip; /* words between the options and the command */
};

static const struct program programs[] = {
	{ "env", RUNS, " - -i -0 -v --ignore-environment --null --debug ",
	  " -u --unset -C --chdir ", 0 },
	{ "nice", RUNS, "", " -n --adjustment ", 0 },
	{ "ionice", RUNS, " -t --ignore ", " -c -n --class --classdata ", 0 },
	{ "nohup builtin catchsegv fakeroot busybox toybox dbus-run-session", RUNS, "", "", 0 },
	{ "ssh-agent", RUNS, " -c -s -D -d -k ", " -a -E -t ", 0 },
	{ "xvfb-run", RUNS, " -a -l --auto-servernum ", " -e -f -n -p -s -w --server-args ", 0 },
	{ "setsid", RUNS, " -c -f -w --ctty --fork --wait ", "", 0 },
	{ "stdbuf", RUNS, "", " -i -o -e --input --output --error ", 0 },
	{ "timeout", RUNS, " -v --verbose --preserve-status --foreground ",
	  " -s --signal -k --kill-after ", 1 },
	{ "time", RUNS, " -p -v -a --portability --verbose --append ", " -f --format ", 0 },
	{ "taskset", RUNS, " -a -c --all-tasks --cpu-list ", "", 1 },
	{ "chrt", RUNS, " -a -b -f -i -o -r -v ", " -T -P -D ", 1 },
	{ "command", RUNS, " -p ", "", 0 },
	{ "exec", RUNS, " -c -l ", " -a ", 0 },
	{ "sudo", ELEVATES, " -n -E -H -S -k -K -b -A -P ", " -u -g -p -C -h -r -t -D -R -T -U ",
	  0 },
	{ "doas", ELEVATES, " -n -L ", " -u -C -a ", 0 },
	{ "chroot", ELEVATES, " --skip-chdir ", " --userspec --groups ", 1 },
	{ "strace ltrace", ELEVATES, " -f -ff -c -C -q -qq -t -tt -T -v -y -yy -i -k ",
	  " -e -o -s -P -E -u -l -x ", 0 },
	{ "xargs", XARGS,
	  " -0 -r -t -x -p -o -i --null --no-run-if-empty --verbose --interactive --exit --open-tty ",
	  " -n -L -P -s -d -a -E -I --max-args --max-lines --max-procs --max-chars --delimiter --arg-file ",
	  0 },
	{ "sh *bash *dash ash yash zsh *ksh", SHELL, "", "", 0 },
	{ "eval", EVAL, "", "", 0 },
	{ "find gfind", FIND, "", "", 0 },
	{ "sed gsed", SED, "", "", 0 },
	/* other shells, and what a shell knows itself */
	{ "fish *csh pwsh* nu . source alias trap hash enable coproc", ANYTHING, "", "", 0 },
	/* other users, other roots, later, elsewhere */
	{ "su runuser pkexec unshare nsenter setpriv setarch linux32 linux64 prlimit", ANYTHING, "",
	  "", 0 },
	{ "systemd-run bwrap firejail watch script expect unbuffer parallel flock entr", ANYTHING,
	  "", "", 0 },
	{ "at batch crontab ssh screen tmux start-stop-daemon run-parts ld.so ld-linux*", ANYTHING,
	  "", "", 0 },
	/* programs that can start others at a word in their input */
	{ "vi *vim* ex ed emacs* gdb lldb* dc m4 *awk tclsh* osascript", ANYTHING, "", "", 0 },
	{ "python* pypy*", CODE, "c", "", 0 },
	{ "perl*", CODE, "eE", "", 0 },
	{ "ruby* Rscript", CODE, "e", "", 0 },
	{ "node* bun tsx", CODE, "epr", "", 0 },
	{ "php*", CODE, "rRBE", "", 0 },
	{ "lua*", CODE, "el", "", 0 },
	{ "git", OPTIONS,
	  " ^-c* ^--config-env* ^--exec-path=* ^--git-dir* ^bisect ^submodule ^filter-branch ^difftool ^mergetool"
	  " ^config ^hook -x --exec* --upload-pack* --receive-pack* --ext-diff -O* --open-files-in-pager* ",
	  "", 0 },
	{ "tar *tar", OPTIONS,
	  " --to-command* --checkpoint-action* -[!-]*I* -I* --use-compress-program* --rsh-command* -F*"
	  " --info-script* --new-volume-script* ^*I* ^*F* ",
	  "", 0 },
	{ "rsync", OPTIONS, " -[!-]*e* -e* --rsh* --rsync-path* ", "", 0 },
	{ "scp sftp", OPTIONS, " -S* -o* -F* ", "", 0 },
	{ "sort", OPTIONS, " --compress-program* ", "", 0 },
	{ "zip", OPTIONS, " -*T* --unzip-command* ", "", 0 },
	{ "man", OPTIONS, " -P* --pager* -H* --html* ", "", 0 },
	{ "fd fdfind", OPTIONS, " -x* -X* --exec* ", "", 0 },
	{ "rg", OPTIONS, " --pre --pre=* --hostname-bin* ", "", 0 },
	{ "curl", OPTIONS, " -K* --config* ", "", 0 },
	{ "wget", OPTIONS, " --use-askpass* -e* --execute* --config* ", "", 0 },
	{ "deno", OPTIONS, " ^eval ^repl ", "", 0 },
	{ "export declare typeset readonly local", EXPORTS, "", "", 0 },
};

/* What a function of a kind sees. */
struct running {
	struct judge *j;
	const struct program *program;
	const struct command_match *m;
	const struct word *v;
	size_t n;
};

static bool is_unknowable(const struct word *w)
{
	return w->kind == WORD_UNKNOWN;
}

/* What a rule that names this program says. */
static void note_own(const struct running *r)
{
	if (r->m->rule)
		judge_note(r->j, r->m->rule, "a rule speaks of it", r->v[0].text);
}

/* Without such a rule it counts as a shell. */
static void note_opaque(const struct running *r, const char *why)
{
	note_own(r);
	if (!r->m->rule)
		judge_sh(r->j, why);
}

static bool is_listed(const char *list, const char *word, size_t n)
{
	for (const char *p = list; (p = memmem(p, strlen(p), word, n)); p++)
		if (p > list && p[-1] == ' ' && p[n] == ' ')
			return true;
	return false;
}

/* Words that v[i] takes as an option: 0, it is none; -1, it is not known what it does. */
static int option_words(const struct program *p, const char *s)
{
	size_t n = strcspn(s, "=");

	if (s[0] != '-')
		return 0;
	if (is_listed(p->flags, s, strlen(s)))
		return 1;
	if (!s[1])
		return 0;
	if (is_listed(p->values, s, strlen(s)))
		return 2;
	if (s[1] == '-')
		return s[n] && is_listed(p->values, s, n) ? 1 : -1;
	if (is_listed(p->values, s, 2))
		return 1;			    /* its value attached */
	return s[1] >= '0' && s[1] <= '9' ? 1 : -1; /* nice -5 */
}

static bool is_plain_assignment(const struct word *w)
{
	return w->kind == WORD_PLAIN && w->text[0] != '=' && strchr(w->text, '=');
}

/* Index of the command's first word; n: there is none; -1: not understood. */
static ssize_t command_start(const struct running *r)
{
	size_t i = 1;
	int words = 1;

	while (i < r->n && words && !is_unknowable(&r->v[i])) {
		if (strcmp(r->v[i].text, "--") == 0) {
			i++;
			break;
		}
		words = option_words(r->program, r->v[i].text);
		if (words < 0 || (size_t)words > r->n - i)
			return -1;
		i += (size_t)words;
	}
	for (; i < r->n && r->program->kind != XARGS && is_plain_assignment(&r->v[i]); i++)
		judge_variable(r->j, r->v[i].text, strcspn(r->v[i].text, "="));
	i = MIN(i + r->program->skip, r->n);
	for (size_t k = 1; k < i; k++)
		if (r->v[k].kind != WORD_PLAIN)
			return -1; /* it may become several words, or none */
	return (ssize_t)i;
}

/* False: there is no command. */
static bool judge_runs(const struct running *r)
{
	ssize_t at = command_start(r);

	if (at < 0) {
		note_opaque(r, "options that are not known");
		return true;
	}
	if (r->program->kind == ELEVATES)
		note_opaque(r, "other rights");
	else
		note_own(r);
	judge_command(r->j, r->v + at, r->n - (size_t)at);
	return (size_t)at < r->n;
}

/* The mark of xargs -I, or NULL. */
static const char *xargs_mark(const struct running *r, size_t end)
{
	for (size_t i = 1; i < end; i++) {
		if (strcmp(r->v[i].text, "-i") == 0)
			return "{}";
		if (strncmp(r->v[i].text, "-I", 2) == 0)
			return r->v[i].text[2] ? r->v[i].text + 2 : r->v[i + 1].text;
	}
	return NULL;
}

/* Its input replaces the mark, or is added at the end. */
static bool judge_xargs(const struct running *r)
{
	struct policy_words inner = { NULL, 0 };
	ssize_t at = command_start(r);
	const char *mark = at < 0 ? NULL : xargs_mark(r, (size_t)at);

	if (at < 0) {
		note_opaque(r, "options that are not known");
		return true;
	}
	if ((size_t)at == r->n)
		return false; /* echo */
	note_own(r);
	for (size_t i = (size_t)at; i < r->n; i++)
		policy_words_add(&inner, slice_of(r->v[i].text),
				 mark && strstr(r->v[i].text, mark) ? WORD_UNKNOWN : r->v[i].kind);
	policy_words_add(&inner, SLICE(""), WORD_UNKNOWN);
	judge_command(r->j, inner.v, inner.n);
	policy_words_done(&inner);
	return true;
}

static bool has_short(const char *word, const char *letters)
{
	return word[0] == '-' && word[1] != '-' && word[1] && strpbrk(word + 1, letters);
}

/* Number of words that an option of a shell takes, if it only sets something; 0: it does more. */
static size_t shell_option(const char *s, bool *text)
{
	static const char *const longs[] = { "--norc", "--noprofile", "--login", "--posix" };
	size_t n = strlen(s);

	for (size_t i = 0; i < ARRAY_SIZE(longs); i++)
		if (strcmp(s, longs[i]) == 0)
			return 1;
	if (n < 2 || (s[0] != '-' && s[0] != '+') ||
	    strspn(s + 1, "abcefhklmnptuvxBCEHPToO") != n - 1)
		return 0;
	if (s[0] == '-' && strchr(s, 'c'))
		*text = true;
	return strpbrk(s, "oO") ? 2 : 1;
}

/* The word after -c. */
static ssize_t shell_text_at(const struct running *r)
{
	bool text = false;
	size_t i = 1, n = 1;

	while (i < r->n && n && r->v[i].kind == WORD_PLAIN) {
		n = shell_option(r->v[i].text, &text);
		i += n;
	}
	if (i < r->n && strcmp(r->v[i].text, "--") == 0)
		i++;
	return text && i < r->n && r->v[i].kind == WORD_PLAIN ? (ssize_t)i : -1;
}

static void judge_shell_program(const struct running *r)
{
	ssize_t at = shell_text_at(r);

	if (at < 0) {
		note_opaque(r, "a script, or what comes on its input");
		return;
	}
	if (r->m->rule && r->m->rule->verdict != POLICY_ALLOW)
		note_own(r);
	judge_shell(r->j, slice_of(r->v[at].text));
}

static void judge_eval(const struct running *r)
{
	_cleanup_(buf_done) struct buf text = { 0 };

	note_own(r);
	for (size_t i = 1; i < r->n; i++) {
		if (r->v[i].kind != WORD_PLAIN) {
			judge_sh(r->j, "eval");
			continue;
		}
		buf_puts(&text, r->v[i].text);
		buf_putc(&text, ' ');
	}
	judge_shell(r->j, buf_slice(&text));
}

static size_t find_exec(const struct running *r, size_t i)
{
	struct policy_words inner = { NULL, 0 };

	for (; i < r->n && strcmp(r->v[i].text, ";") != 0 && strcmp(r->v[i].text, "+") != 0; i++)
		policy_words_add(&inner, slice_of(r->v[i].text),
				 strstr(r->v[i].text, "{}") ? WORD_UNKNOWN : r->v[i].kind);
	if (inner.n)
		judge_command(r->j, inner.v, inner.n);
	else
		judge_sh(r->j, "find -exec");
	policy_words_done(&inner);
	return i;
}

static void judge_find(const struct running *r)
{
	static const struct word rm[] = { { (char *)(uintptr_t) "rm", WORD_PLAIN, false },
					  { (char *)(uintptr_t) "", WORD_UNKNOWN, false } };
	static const char *const execs[] = { "-exec", "-execdir", "-ok", "-okdir" };

	for (size_t i = 1; i < r->n; i++) {
		const char *s = r->v[i].text;

		if (is_unknowable(&r->v[i]) || strncmp(s, "-fprint", 7) == 0 ||
		    strcmp(s, "-fls") == 0)
			judge_sh(r->j, "find that writes");
		else if (strcmp(s, "-delete") == 0)
			judge_command(r->j, rm, ARRAY_SIZE(rm));
		for (size_t k = 0; k < ARRAY_SIZE(execs); k++)
			if (strcmp(s, execs[k]) == 0)
				i = find_exec(r, i + 1);
	}
}

static bool sed_word_plain(const struct running *r, size_t *i, bool *script)
{
	const char *s = r->v[*i].text;

	if (r->v[*i].kind == WORD_UNKNOWN)
		return false;
	if (strcmp(s, "-e") == 0 || strcmp(s, "--expression") == 0) {
		*script = true;
		return ++*i < r->n && r->v[*i].kind == WORD_PLAIN &&
		       policy_sed_plain(r->v[*i].text);
	}
	if (strncmp(s, "--in-place", 10) == 0 || strncmp(s, "-i", 2) == 0)
		return true;
	if (s[0] == '-' && s[1])
		return strspn(s + 1, "nErsuz") == strlen(s + 1);
	if (*script)
		return true; /* a file */
	*script = true;
	return r->v[*i].kind == WORD_PLAIN && policy_sed_plain(s);
}

static bool sed_is_plain(const struct running *r)
{
	bool script = false;

	for (size_t i = 1; i < r->n; i++)
		if (!sed_word_plain(r, &i, &script))
			return false;
	return true;
}

static bool is_code(const struct running *r)
{
	static const char *const about[] = { "--version", "-V", "-v", "--help" };

	for (size_t i = 0; r->n == 2 && i < ARRAY_SIZE(about); i++)
		if (strcmp(r->v[1].text, about[i]) == 0)
			return false;
	for (size_t i = 1; i < r->n; i++) {
		const char *s = r->v[i].text;

		if (is_unknowable(&r->v[i]) || strcmp(s, "-") == 0 ||
		    has_short(s, r->program->flags) || strncmp(s, "--eval", 6) == 0 ||
		    strncmp(s, "--print", 7) == 0 || strncmp(s, "--require", 9) == 0 ||
		    strncmp(s, "--import", 8) == 0 || strncmp(s, "--run", 5) == 0)
			return true;
		if (s[0] != '-')
			return false; /* a file; what follows is for it */
	}
	return true; /* it reads code from its input */
}

/* globs: options that run programs; "^": only up to the first word that is no option, as those of git itself. */
static bool option_runs(const char *globs, const struct word *w, bool before)
{
	struct slice list = slice_of(globs), glob;

	while (slice_item(&list, ' ', &glob)) {
		bool early = slice_skip(&glob, "^");

		if (glob.n && (!early || before) &&
		    (is_unknowable(w) || glob_match(glob, slice_of(w->text), false)))
			return true;
	}
	return false;
}

static bool judge_options(const struct running *r)
{
	bool before = true, hit = false;

	for (size_t i = 1; i < r->n; i++) {
		bool covered = r->m->rule && r->m->narrow && r->m->rule->n > i;

		if (!covered && option_runs(r->program->flags, &r->v[i], before)) {
			judge_sh(r->j, "an option that runs programs");
			hit = true;
		}
		before = before && r->v[i].text[0] == '-';
	}
	return hit && !r->m->rule;
}

static void judge_exports(const struct running *r)
{
	for (size_t i = 1; i < r->n; i++) {
		if (is_unknowable(&r->v[i]))
			judge_sh(r->j, "a variable whose name is not known before");
		else
			judge_variable(r->j, r->v[i].text, strcspn(r->v[i].text, "+="));
	}
}

static bool judge_kind(const struct running *r)
{
	switch (r->program->kind) {
	case RUNS:
	case ELEVATES:
		return judge_runs(r);
	case XARGS:
		return judge_xargs(r);
	case SHELL:
		judge_shell_program(r);
		return true;
	case EVAL:
		judge_eval(r);
		return true;
	case FIND:
		judge_find(r);
		return false;
	case SED:
		if (sed_is_plain(r))
			return false;
		note_opaque(r, "sed");
		return true;
	case CODE:
		if (!is_code(r))
			return false;
		note_opaque(r, "code for an interpreter");
		return true;
	case ANYTHING:
		note_opaque(r, r->v[0].text);
		return true;
	case OPTIONS:
		return judge_options(r);
	case EXPORTS:
		judge_exports(r);
		return !r->m->rule;
	}
	return false;
}

static bool is_named_program(const char *names, const char *name)
{
	struct slice list = slice_of(names), glob;

	while (slice_item(&list, ' ', &glob))
		if (glob_match(glob, slice_of(name), false))
			return true;
	return false;
}

bool judge_program(struct judge *j, const struct command_match *m, const struct word *v, size_t n)
{
	const char *slash = strrchr(v[0].text, '/'), *name = slash ? slash + 1 : v[0].text;

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		struct running r = { j, &programs[i], m, v, n };

		if (is_named_program(programs[i].names, name))
			return judge_kind(&r);
	}
	return false;
}
