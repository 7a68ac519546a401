/* run_code.h - runCode, for the table of commands. Of its interpreters: the configuration's, else those of PATH. */
#pragma once

#include "tools/builtin/core/tool.h"

extern const struct tool_field code_in[], code_out[];
/* Of the configuration: {"python": ["/opt/python/bin/python3", "-I"]}, by the first name of a language. */
int code_interpreters_check(struct slice interpreters, struct err *e);
/* First name of the i-th language, or NULL. */
const char *code_language_at(size_t i);
void code_start(struct builtin_call *c);
