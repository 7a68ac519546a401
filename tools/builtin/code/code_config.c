/* code_config.c - checks the interpreters of a configuration against the known languages. */
#include "tools/builtin/code/run_code.h"

#include "base/limits.h"
#include "json/jstr.h"

#include <stdio.h>

static int interpreter_check_words(struct jval list, const char *path, struct err *e)
{
	char at[96];
	size_t n = 0;

	jarr_each(v, list) {
		_cleanup_(freep) char *word = NULL;

		snprintf(at, sizeof(at), "%s[%zu]", path, n++);
		if (jstr_decode(v, PATH_BYTES_MAX, &word) < 0 || !*word)
			return err_field(e, at, "FIELD_INVALID", "%s must be a word", at);
	}
	return n ? 0 : err_field(e, path, "FIELD_INVALID", "%s must be words", path);
}

int code_interpreters_check(struct slice interpreters, struct err *e)
{
	char path[80];
	int r;

	jobj_each(key, v, interpreters) {
		const char *name;
		size_t i = 0;

		snprintf(path, sizeof(path), "interpreters.%.*s", (int)MIN(key.n, 40u), key.p);
		while ((name = code_language_at(i)) && !jkey_is(key, name))
			i++;
		if (!name)
			return err_field(e, path, "PARAM_UNSUPPORTED",
					 "there is no such language; known are python, js, ts");
		r = interpreter_check_words(v, path, e);
		if (r < 0)
			return r;
	}
	return 0;
}
