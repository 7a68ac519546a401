/*
 * policy_internal.h - what the files of the policy share.
 *
 * A command is judged by notes: every part that is understood notes the verdict of its rule, a part that is not
 * understood notes that of "sh", and the strictest note is the answer. So a later part can never make up for an earlier
 * one.
 */
#pragma once

#include "base/buf.h"
#include "base/limits.h"
#include "policy/policy.h"
#include "policy/policy_rule.h"

struct policy_globs {
	char **v;
	size_t n;
	bool given;
};

struct policy_command {
	char **words;
	size_t n;
	bool exact; /* for what is allowed: no further words */
	enum policy_verdict verdict;
};

struct policy {
	struct policy_globs read, write, deny;
	struct policy_command *commands;
	size_t ncommands;
	bool category_given[CATEGORIES];
	enum policy_verdict category[CATEGORIES];
	struct policy_rules tools;
	bool dry_run;
};

enum word_kind {
	WORD_PLAIN,
	WORD_GLOB,    /* text is what its expansions begin with */
	WORD_UNKNOWN, /* may become anything, also several words */
};

struct word {
	char *text;
	enum word_kind kind;
	bool quoted; /* in part: neither a reserved word nor an assignment */
};

struct policy_words {
	struct word *v;
	size_t n;
};

struct word *policy_words_add(struct policy_words *w, struct slice text, enum word_kind kind);
void policy_words_done(struct policy_words *w);

/* One judgement. */
struct judge {
	const struct policy *p;
	enum policy_verdict verdict;
	unsigned depth;
	struct policy_reason *why; /* may be NULL */
	struct err *e;
};

static inline void policy_reason_clear(struct policy_reason *why)
{
	if (why)
		*why = (struct policy_reason){ 0 };
}

/* policy.c */
void policy_reason_set(struct policy_reason *why, const char *fmt, ...) _printf_(2, 3);

/* policy_command.c: what a rule says; NULL: what holds where no rule speaks. */
void judge_note(struct judge *j, const struct policy_command *rule, const char *why,
		const char *what);
/* Notes a part that is not understood. */
void judge_sh(struct judge *j, const char *why);
void judge_command(struct judge *j, const struct word *v, size_t n);
void judge_variable(struct judge *j, const char *name, size_t n);
/* policy_match.c: the rule that speaks of a command. */
struct command_match {
	const struct policy_command *rule; /* NULL: none */
	bool narrow;
};

struct command_match policy_match(const struct policy *p, const struct word *v, size_t n);
/* policy_programs.c: programs that run others. False: v is none of them, or runs no other program here. */
bool judge_program(struct judge *j, const struct command_match *m, const struct word *v, size_t n);
/* policy_sed.c: true for a script of sed that only prints, deletes and replaces. */
bool policy_sed_plain(const char *script);
/* policy_shell.c */
void judge_shell(struct judge *j, struct slice text);
