/*
 * policy_command.c - judges one command: its rule, what it runs (policy_programs.c), and the variables that
 * it sets. What is not understood counts as "sh". These are the entries of policy.h for commands.
 */
#include "policy/policy_internal.h"

#include "base/util.h"
#include "tree/glob.h"

struct word *policy_words_add(struct policy_words *w, struct slice text, enum word_kind kind)
{
	struct word *word = GROW(w->v, w->n);

	word->text = xstrndup(text.p, text.n);
	word->kind = kind;
	return word;
}

void policy_words_done(struct policy_words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->v[i].text);
	free(w->v);
	*w = (struct policy_words){ NULL, 0 };
}

/* --- notes ------------------------------------------------------------------------------------------- */

/* What is said of one part of a command, and which rule says it. */
struct part_word {
	enum policy_verdict verdict;
	const struct policy_command *rule; /* NULL: the category, */
	bool category;			   /* or that no rule speaks of it */
};

/* Of notes that are as strict, one that a rule makes says more than one that only lacks a rule. */
static void reason_note(struct judge *j, const struct part_word *w, bool stricter)
{
	bool unspoken = !w->rule && !w->category;

	if (!j->why || (!stricter && (w->verdict != j->verdict ||
				      (j->why->rule[0] && (!j->why->unspoken || unspoken)))))
		return;
	j->why->unspoken = unspoken;
	if (w->rule)
		policy_reason_set(j->why, "policy.commands[%zu]",
				  (size_t)(w->rule - j->p->commands));
	else
		policy_reason_set(j->why,
				  w->category ? "policy.categories.execute" : "policy.commands");
}

static void judge_note_part(struct judge *j, const struct part_word *w, const char *why,
			    const char *what)
{
	bool deny = w->verdict == POLICY_DENY;
	bool stricter = policy_stricter(w->verdict, j->verdict) != j->verdict;

	if (stricter) {
		j->verdict = w->verdict;
		err_set(j->e, deny ? -EACCES : 1, RPC_INVALID_PARAMS,
			deny ? "COMMAND_DENIED" : "COMMAND_ASK", "the policy %s: %s%s%.120s",
			deny ? "denies the command" : "wants a human to allow the command", why,
			what ? ": " : "", what ? what : "");
	}
	reason_note(j, w, stricter);
}

/* Of a command without a rule. */
static struct part_word fallback(const struct policy *p)
{
	struct part_word w = { .verdict = POLICY_ALLOW };

	for (size_t i = 0; i < p->ncommands; i++) {
		const struct policy_command *c = &p->commands[i];

		/* A rule with an empty prefix is the fallback; of several the strictest. */
		if (!c->n && (!w.rule || policy_stricter(c->verdict, w.verdict) != w.verdict))
			w = (struct part_word){ c->verdict, c, false };
	}
	if (w.rule)
		return w;
	if (p->category_given[CATEGORY_EXECUTE])
		return (struct part_word){ p->category[CATEGORY_EXECUTE], NULL, true };
	/* Without any rule all commands are allowed; with one, a human is asked about those that no rule names. */
	w.verdict = p->ncommands ? POLICY_ASK : POLICY_ALLOW;
	return w;
}

void judge_note(struct judge *j, const struct policy_command *rule, const char *why,
		const char *what)
{
	struct part_word w = fallback(j->p);

	if (rule)
		w = (struct part_word){ rule->verdict, rule, false };
	judge_note_part(j, &w, why, what);
}

static bool forbids_any(const struct policy *p)
{
	for (size_t i = 0; i < p->ncommands; i++)
		if (p->commands[i].verdict != POLICY_ALLOW)
			return true;
	return false;
}

void judge_sh(struct judge *j, const char *why)
{
	const struct word sh = { (char *)(uintptr_t) "sh", WORD_PLAIN, false };
	struct command_match m = policy_match(j->p, &sh, 1);
	struct part_word w = fallback(j->p);

	if (m.rule)
		w = (struct part_word){ m.rule->verdict, m.rule, false };
	/* A shell could run what another rule denies. */
	else if (w.verdict == POLICY_ALLOW && forbids_any(j->p))
		w = (struct part_word){ .verdict = POLICY_ASK };
	judge_note_part(j, &w, "what counts as \"sh\"", why);
}

void judge_variable(struct judge *j, const char *name, size_t n)
{
	/* variables from which loaders, shells and common programs take programs, code or options */
	static const char *const names[] = {
		"LD_*",		 "DYLD_*",     "PATH",	       "IFS",	       "ENV",
		"BASH_*",	 "SHELLOPTS",  "BASHOPTS",     "PS[0-9]",      "PROMPT_COMMAND",
		"CDPATH",	 "GLOBIGNORE", "SHELL",	       "HOME",	       "XDG_CONFIG_*",
		"GIT_*",	 "*PAGER",     "LESS*",	       "*EDITOR",      "VISUAL",
		"BROWSER",	 "*ASKPASS",   "PYTHON*",      "PERL*",	       "RUBY*",
		"GEM_*",	 "BUNDLE_*",   "NODE_*",       "npm_config_*", "NPM_CONFIG_*",
		"*JAVA*OPTIONS", "CLASSPATH",  "MAVEN_OPTS",   "GRADLE_OPTS",  "TAR_OPTIONS",
		"MAKE*",	 "MFLAGS",     "GNUMAKEFLAGS", "RSYNC_*",      "CARGO_*",
		"RUSTC*",	 "GOFLAGS",    "CC",	       "CXX",	       "LUA_*",
		"PHP*",		 "GCONV_PATH", "ZDOTDIR",      "FPATH",	       "*_RSH",
		"DENO_*",	 "BUN_*",      "AWK*",	       "OPENSSL_*",    "DOCKER_*",
		"GTK_*",	 "QT_*",       "VIMINIT",      "EXINIT",       "INPUTRC",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (glob_match(slice_of(names[i]), (struct slice){ name, n }, false))
			judge_sh(j, "a variable that programs take commands from");
}

/* --- one command ------------------------------------------------------------------------------------- */

/* These run no program and write no file; the lexer has judged a redirection. */
static bool is_harmless_program(const struct word *v)
{
	static const char *const names[] = { ":",    "true", "false", "cd",   "pwd",
					     "echo", "test", "[",     "exit", "return" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(v->text, names[i]) == 0)
			return true;
	return false;
}

static void judge_plain(struct judge *j, const struct command_match *m, const struct word *v)
{
	if (m->rule)
		judge_note(j, m->rule, "a rule speaks of it", v->text);
	else if (!is_harmless_program(v))
		judge_note(j, NULL, "no rule allows it", v->text);
}

/* Words that mean something to a shell only ("!", "A=b") where a program's name should be: somebody may take
 * them so. */
static bool is_odd(const char *name)
{
	return name[0] == '-' || strpbrk(name, "=!{}()<>;&|`$\n");
}

void judge_command(struct judge *j, const struct word *v, size_t n)
{
	struct command_match m;

	if (!n)
		return;
	if (v[0].kind != WORD_PLAIN || !v[0].text[0]) {
		judge_sh(j, "a program whose name is not known before");
		return;
	}
	if (j->depth >= POLICY_NESTING_MAX) {
		judge_sh(j, "programs that run programs");
		return;
	}
	j->depth++;
	if (is_odd(v[0].text)) {
		judge_sh(j, "an odd name of a program");
		/* Judged both ways: as the word of a shell that it may be, and as a program of that name. */
		judge_command(j, v + 1, n - 1);
	}
	m = policy_match(j->p, v, n);
	if (!judge_program(j, &m, v, n))
		judge_plain(j, &m, v);
	j->depth--;
}

/* --- entries ----------------------------------------------------------------------------------------- */

enum policy_verdict policy_argv(const struct policy *p, char *const *argv,
				struct policy_reason *why, struct err *e)
{
	struct judge j = { p, POLICY_ALLOW, 0, why, e };
	struct policy_words words = { NULL, 0 };

	policy_reason_clear(why);
	if (!p || !p->ncommands)
		return POLICY_ALLOW; /* the tool itself was judged */
	for (; *argv; argv++)
		policy_words_add(&words, slice_of(*argv), WORD_PLAIN);
	judge_command(&j, words.v, words.n);
	policy_words_done(&words);
	return j.verdict;
}

enum policy_verdict policy_shell(const struct policy *p, const char *text,
				 struct policy_reason *why, struct err *e)
{
	struct judge j = { p, POLICY_ALLOW, 0, why, e };

	policy_reason_clear(why);
	if (!p || !p->ncommands)
		return POLICY_ALLOW;
	judge_shell(&j, slice_of(text));
	return j.verdict;
}

enum policy_verdict policy_unread_command(const struct policy *p, struct policy_reason *why,
					  struct err *e)
{
	struct judge j = { p, POLICY_ALLOW, 0, why, e };

	policy_reason_clear(why);
	if (p && p->ncommands)
		judge_sh(&j, "a command whose words are not known");
	return j.verdict;
}

enum policy_verdict policy_variable(const struct policy *p, const char *name, struct err *e)
{
	struct judge j = { p, POLICY_ALLOW, 0, NULL, e };

	if (p && p->ncommands)
		judge_variable(&j, name, strlen(name));
	return j.verdict;
}
