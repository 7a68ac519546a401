/* code.h - runCode, for the table of commands. Of its interpreters: the configuration's, else those of PATH. */
#pragma once

#include "tools/builtin/tool.h"

extern const struct tool_field code_in[], code_out[];
void code_start(struct tool_call *c);
