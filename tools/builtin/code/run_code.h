/* run_code.h - runCode, for the table of commands. Of its interpreters: the configuration's, else those of PATH. */
#pragma once

#include "base/slice.h"
#include "tools/builtin/core/tool.h"

extern const struct tool_field code_in[], code_out[];
/* Of the configuration: {"python": ["/opt/python/bin/python3", "-I"]}, by the first name of a language. */
int code_interpreters_check(struct slice interpreters, struct err *e);
void code_start(struct builtin_call *c);

/*
 * Where the code of runCode lies while it runs.
 *
 * node looks for imports from the directory of the code. So JavaScript and TypeScript lie in the working directory, as
 * ".acpd-code-XXXXXX.mjs" and the like: hidden, and named in the repository's .git/info/exclude, so that no commit
 * takes the file in. It is removed when the run has ended, by the keeper of the command (command_keeper.h) even if
 * these tools are killed; only in the milliseconds before there is a keeper it would stay. Python code lies outside of
 * the tree and gets PYTHONPATH; so does all code if the directory cannot be written.
 *
 * The suffix sets the kind of module, for any package.json: code with import or export, or with await outside of
 * functions, is an ES module, other code has require.
 */

struct toolbox;

#define CODE_HIDDEN ".acpd-code-" /* what the names of all such files begin with */

/* Makes the file and fills it; *ret is its path. dir: the working directory, or NULL for outside of the tree. suffix:
 * ".js". */
int code_file_write(const struct toolbox *b, const char *dir, const char *suffix, struct slice text,
		    char **ret);
bool code_is_module(struct slice text);
