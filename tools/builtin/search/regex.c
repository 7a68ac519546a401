/*
 * regex.c - compiles and matches PCRE2 patterns with limits on steps, memory and nesting.
 *
 * Patterns come from models and files hold any bytes. TOOL_GREP_STEPS and TOOL_GREP_HEAP_KIB limit
 * one match. The JIT is optional. PCRE2_MATCH_INVALID_UTF keeps a match within valid UTF-8; \C is
 * refused, because it could split a character. Any error of a match counts as REGEX_TOO_COSTLY.
 */
#include "tools/builtin/search/regex.h"

#include "base/limits.h"
#include "base/util.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

struct regex {
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *context;
};

static pcre2_code *compile(struct slice pattern, uint32_t options, struct err *e)
{
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	PCRE2_UCHAR text[160];
	pcre2_code *code;
	PCRE2_SIZE at;
	int error;

	/* \uXXXX and \u{X} as in JavaScript */
	if (!(options & PCRE2_LITERAL))
		pcre2_set_compile_extra_options(context, PCRE2_EXTRA_ALT_BSUX);
	/* The compiler recurses for each level, and the stack of a tool's thread is small. */
	pcre2_set_parens_nest_limit(context, 200);
	code = pcre2_compile((PCRE2_SPTR)pattern.p, pattern.n, options, &error, &at, context);
	pcre2_compile_context_free(context);
	if (code)
		return code;
	pcre2_get_error_message(error, text, sizeof(text));
	err_field(e, "pattern", "EUNSUPPORTED_PATTERN", "pattern: %s at byte %zu", (char *)text,
		  at);
	return NULL;
}

struct regex *regex_new(struct slice pattern, bool literal, bool ignore_case, struct err *e)
{
	uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF;
	struct regex *r;
	pcre2_code *code;

	options |= ignore_case ? PCRE2_CASELESS : 0;
	/* pcre2api(3): PCRE2_LITERAL is an error together with most other options. */
	options |= literal ? PCRE2_LITERAL : PCRE2_NEVER_BACKSLASH_C;
	/* \w of JavaScript is ASCII, as it is without PCRE2_UCP */
	code = compile(pattern, options, e);
	if (!code)
		return NULL;
	r = new0(struct regex);
	r->code = code;
	pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* without it, matching is only slower */
	r->data = pcre2_match_data_create_from_pattern(code, NULL);
	r->context = pcre2_match_context_create(NULL);
	if (!r->data || !r->context) {
		err_set(e, -ENOMEM, 0, "ENOMEM", "no memory for the pattern");
		return regex_free(r);
	}
	pcre2_set_match_limit(r->context, TOOL_GREP_STEPS);
	pcre2_set_heap_limit(r->context, TOOL_GREP_HEAP_KIB);
	return r;
}

struct regex *regex_free(struct regex *r)
{
	pcre2_match_context_free(r->context);
	pcre2_match_data_free(r->data);
	pcre2_code_free(r->code);
	free(r);
	return NULL;
}

enum regex_found regex_find(struct regex *r, struct slice text, size_t *start, size_t *end)
{
	int n = pcre2_match(r->code, (PCRE2_SPTR)(text.p ? text.p : ""), text.n, 0, 0, r->data,
			    r->context);
	const PCRE2_SIZE *at = pcre2_get_ovector_pointer(r->data);

	if (n == PCRE2_ERROR_NOMATCH)
		return REGEX_UNMATCHED;
	if (n < 0)
		return REGEX_TOO_COSTLY;
	/* \K in a lookahead can set the start behind the end. */
	*start = MIN(at[0], text.n);
	*end = MIN(MAX(at[1], *start), text.n);
	return REGEX_MATCHED;
}
