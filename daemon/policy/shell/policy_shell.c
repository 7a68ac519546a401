/*
 * policy_shell.c - text of a shell, split into the commands that it would run.
 *
 * This is no parser of a shell, and need not be: it must never take for harmless what a shell would run. It knows
 * words, quotes, separators, plain redirections and reserved words. For anything else it notes "sh" (judge_sh), the
 * verdict for a shell of unknown content, and goes on judging the words as if they were commands, so that a denied
 * command is found in there, too. A word that the shell would change (a glob, a variable, a substitution) is WORD_GLOB
 * or WORD_UNKNOWN: it may become anything, and rules that allow do not match it.
 */
#include "policy/policy_internal.h"

#include <ctype.h>

enum redirect { REDIRECT_NONE, REDIRECT_IN, REDIRECT_OUT };

struct lexer {
	struct judge *j;
	const char *p, *end;
	struct policy_words words;
	struct buf text; /* of the word that is being read */
	bool in_word, quoted, digits;
	enum word_kind kind;
	enum redirect redirect; /* of the next word */
};

static void word_reset(struct lexer *l)
{
	buf_reset(&l->text);
	l->in_word = l->quoted = false;
	l->digits = true;
	l->kind = WORD_PLAIN;
}

static void word_char(struct lexer *l, char c)
{
	l->in_word = true;
	if (!isdigit((unsigned char)c))
		l->digits = false;
	if (l->kind == WORD_PLAIN)
		buf_putc(&l->text, c); /* of a glob the text before its first star is kept */
}

static void word_unknown(struct lexer *l)
{
	l->in_word = true;
	l->digits = false;
	l->kind = WORD_UNKNOWN;
}

static void word_glob(struct lexer *l)
{
	l->in_word = true;
	l->digits = false;
	/* The text before the first star limits what the word can become. Without it, it can become anything. */
	if (l->kind == WORD_PLAIN)
		l->kind = buf_len(&l->text) ? WORD_GLOB : WORD_UNKNOWN;
}

/* Output there creates or changes no file. */
static bool is_sink(struct slice s)
{
	return slice_is(s, "/dev/null") || slice_is(s, "/dev/stdout") || slice_is(s, "/dev/stderr");
}

static void word_end(struct lexer *l)
{
	struct word *w;

	if (!l->in_word)
		return;
	/* The buffer has a bound, and what is behind it was not seen. */
	if (l->text.failed)
		judge_sh(l->j, "a very long word");
	if (l->redirect == REDIRECT_OUT && (l->kind != WORD_PLAIN || !is_sink(buf_slice(&l->text))))
		judge_sh(l->j, "output into a file");
	/* The target of a redirection is no word of the command. */
	if (l->redirect == REDIRECT_NONE) {
		w = policy_words_add(&l->words, buf_slice(&l->text), l->kind);
		w->quoted = l->quoted;
	}
	l->redirect = REDIRECT_NONE;
	word_reset(l);
}

/* --- a command is complete --------------------------------------------------------------------------- */

static bool word_is_among(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(word, *list) == 0)
			return true;
	return false;
}

static bool is_shell_assignment(const struct word *w)
{
	size_t n = 0;

	while (isalnum((unsigned char)w->text[n]) || w->text[n] == '_')
		n++;
	if (!n || isdigit((unsigned char)w->text[0]) || w->quoted)
		return false;
	return w->text[n] == '=' || (w->text[n] == '+' && w->text[n + 1] == '=');
}

/* True: the word is not part of the command itself. */
static bool is_before_command(struct lexer *l, const struct word *w)
{
	static const char *const silent[] = { "!", "time", NULL };
	static const char *const control[] = { "if",	   "then",  "else",   "elif", "fi",
					       "while",	   "until", "do",     "done", "esac",
					       "{",	   "}",	    "for",    "case", "select",
					       "function", "[[",    "coproc", NULL };

	if (is_shell_assignment(w)) {
		judge_variable(l->j, w->text, strcspn(w->text, "+="));
		return true;
	}
	if (w->quoted || w->kind != WORD_PLAIN)
		return false;
	if (word_is_among(w->text, silent))
		return true;
	if (!word_is_among(w->text, control))
		return false;
	judge_sh(l->j, "a compound command");
	return true;
}

static void command_end(struct lexer *l)
{
	size_t i = 0;

	word_end(l);
	if (l->redirect != REDIRECT_NONE)
		judge_sh(l->j, "a redirection to nowhere");
	l->redirect = REDIRECT_NONE;
	while (i < l->words.n && is_before_command(l, &l->words.v[i]))
		i++;
	/* Assignments and reserved words before it were noted; the command begins after them. */
	judge_command(l->j, l->words.v + i, l->words.n - i);
	policy_words_done(&l->words);
}

/* --- substitutions ----------------------------------------------------------------------------------- */

/* The place after the bracket that closes the one before p; end if there is none. */
static const char *bracket_end(const char *p, const char *end, char open, char close)
{
	/* Quotes are not parsed: for anything but a plain ${NAME} the verdict of a shell is noted anyway. */
	unsigned depth = 1;

	for (; p < end; p++) {
		if (*p == '\\' && p + 1 < end)
			p++;
		else if (*p == open)
			depth++;
		else if (*p == close && !--depth)
			return p + 1;
	}
	return end;
}

static void inner_judge(struct lexer *l, const char *from, const char *to, const char *why)
{
	judge_sh(l->j, why);
	judge_shell(l->j, (struct slice){ from, to > from ? (size_t)(to - from) : 0 });
}

static void backticks(struct lexer *l)
{
	const char *from = ++l->p;

	while (l->p < l->end && *l->p != '`')
		l->p += *l->p == '\\' && l->p + 1 < l->end ? 2 : 1;
	inner_judge(l, from, l->p, "a substitution");
	if (l->p < l->end)
		l->p++;
	word_unknown(l);
}

static bool is_parameter(const char *p, const char *end)
{
	if (p >= end)
		return false;
	for (; p < end; p++)
		if (!isalnum((unsigned char)*p) && !strchr("_@*#?!$-", *p))
			return false;
	return true;
}

static void dollar_bracket(struct lexer *l, char open, char close)
{
	const char *from = l->p + 2;

	l->p = bracket_end(from, l->end, open, close);
	/* ${NAME} alone runs nothing; ${NAME:-$(cmd)} may. */
	if (open != '{' || !is_parameter(from, l->p - 1))
		inner_judge(l, from, l->p > from && l->p[-1] == close ? l->p - 1 : l->p,
			    "a substitution");
	word_unknown(l);
}

static void dollar(struct lexer *l)
{
	char next = l->p + 1 < l->end ? l->p[1] : '\0';

	if (next == '(' || next == '{' || next == '[') {
		dollar_bracket(l, next, next == '(' ? ')' : next == '{' ? '}' : ']');
	} else if (isalpha((unsigned char)next) || next == '_') {
		for (l->p++; l->p < l->end && (isalnum((unsigned char)*l->p) || *l->p == '_');)
			l->p++;
		word_unknown(l);
	} else if (next && strchr("0123456789@*#?!$-", next)) {
		l->p += 2;
		word_unknown(l);
	} else {
		if (next == '\'')
			judge_sh(l->j, "a quotation with escapes");
		word_char(l, *l->p++);
		if (next == '\'' || next == '"')
			word_unknown(l);
	}
}

/* --- characters -------------------------------------------------------------------------------------- */

static void quote_single(struct lexer *l)
{
	l->in_word = l->quoted = true;
	l->digits = false;
	for (l->p++; l->p < l->end && *l->p != '\''; l->p++)
		word_char(l, *l->p);
	if (l->p < l->end)
		l->p++;
	else
		judge_sh(l->j, "a quotation without end");
}

/* A backslash stays in the word except before these five characters (POSIX shell, section 2.2.3). */
static void quote_double(struct lexer *l)
{
	l->in_word = l->quoted = true;
	l->digits = false;
	l->p++;
	while (l->p < l->end && *l->p != '"') {
		if (*l->p == '`') {
			backticks(l);
		} else if (*l->p == '$') {
			if (l->p + 1 < l->end && (l->p[1] == '"' || l->p[1] == '\''))
				word_char(l, *l->p++);
			else
				dollar(l);
		} else if (*l->p == '\\' && l->p + 1 < l->end && strchr("$`\"\\\n", l->p[1])) {
			if (l->p[1] != '\n')
				word_char(l, l->p[1]);
			l->p += 2;
		} else {
			word_char(l, *l->p++);
		}
	}
	if (l->p < l->end)
		l->p++;
	else
		judge_sh(l->j, "a quotation without end");
}

static void escape(struct lexer *l)
{
	/* A line that goes on: both characters vanish. */
	if (l->p + 1 < l->end && l->p[1] == '\n') {
		l->p += 2;
		return;
	}
	l->quoted = true;
	l->digits = false;
	if (l->p + 1 < l->end)
		l->p++;
	word_char(l, *l->p++);
}

/* > >> >| >& < <& <> << */
static void redirection(struct lexer *l)
{
	bool out = *l->p == '>';

	if (l->in_word && l->digits && l->kind == WORD_PLAIN)
		word_reset(l); /* the descriptor */
	word_end(l);
	if (l->redirect != REDIRECT_NONE)
		judge_sh(l->j, "a redirection to nowhere");
	l->p++;
	if (l->p < l->end && *l->p == (out ? '>' : '<')) {
		if (!out)
			judge_sh(l->j, "a document in the text");
		l->p++;
	}
	if (l->p < l->end && *l->p == '>') /* <> */
		out = true, l->p++;
	l->redirect = out ? REDIRECT_OUT : REDIRECT_IN;
	if (l->p < l->end && *l->p == '|')
		l->p++;
	if (l->p >= l->end || *l->p != '&')
		return;
	l->p++; /* a copy of a descriptor */
	if (l->p < l->end && (isdigit((unsigned char)*l->p) || *l->p == '-')) {
		while (l->p < l->end && (isdigit((unsigned char)*l->p) || *l->p == '-'))
			l->p++;
		l->redirect = REDIRECT_NONE;
	}
}

static void comment(struct lexer *l)
{
	/* Within a word '#' is a plain character. */
	if (l->in_word) {
		word_char(l, *l->p++);
		return;
	}
	while (l->p < l->end && *l->p != '\n')
		l->p++;
}

/* Alone: a group. "{}": two characters. In a word: some shells make several words of it. */
static void brace(struct lexer *l)
{
	bool alone = !l->in_word && (l->p + 1 >= l->end || isspace((unsigned char)l->p[1]) ||
				     strchr(";&|", l->p[1]));

	if (l->p + 1 < l->end && l->p[0] == '{' && l->p[1] == '}') {
		word_char(l, *l->p++);
		word_char(l, *l->p++);
	} else if (alone) {
		word_char(l, *l->p++);
	} else {
		judge_sh(l->j, "braces");
		word_unknown(l);
		l->p++;
	}
}

/* The second character of &&, || and ;; ends a command without words, which judge_command ignores. */
static void separator(struct lexer *l)
{
	command_end(l);
	l->p++;
}

static void parenthesis(struct lexer *l)
{
	judge_sh(l->j, "parentheses");
	separator(l);
}

static void blank(struct lexer *l)
{
	word_end(l);
	l->p++;
}

/* "[ -f x ]": a command, not a pattern. */
static bool is_test(const struct lexer *l)
{
	return *l->p == '[' && !l->in_word && l->p + 1 < l->end && isspace((unsigned char)l->p[1]);
}

static void glob(struct lexer *l)
{
	if (is_test(l))
		word_char(l, *l->p);
	else
		word_glob(l);
	l->p++;
}

static void plain_char(struct lexer *l)
{
	word_char(l, *l->p++);
}

static void lexer_step(struct lexer *l)
{
	static void (*const rows[256])(struct lexer *) = {
		[' '] = blank,	      ['\t'] = blank,	   ['\n'] = separator,
		[';'] = separator,    ['&'] = separator,   ['|'] = separator,
		['('] = parenthesis,  [')'] = parenthesis, ['\''] = quote_single,
		['"'] = quote_double, ['\\'] = escape,	   ['`'] = backticks,
		['$'] = dollar,	      ['<'] = redirection, ['>'] = redirection,
		['#'] = comment,      ['{'] = brace,	   ['}'] = brace,
		['*'] = glob,	      ['?'] = glob,	   ['['] = glob,
	};
	void (*fn)(struct lexer *) = rows[(unsigned char)*l->p];

	(fn ? fn : plain_char)(l);
}

void judge_shell(struct judge *j, struct slice text)
{
	struct lexer l = { .j = j, .p = text.p, .end = text.p + text.n };

	/* Bounds the recursion through substitutions, eval and sh -c. */
	if (j->depth >= POLICY_NESTING_MAX) {
		judge_sh(j, "shells within shells");
		return;
	}
	j->depth++;
	word_reset(&l);
	while (l.p < l.end)
		lexer_step(&l);
	/* The last command has no separator behind it. */
	command_end(&l);
	buf_done(&l.text);
	j->depth--;
}
