/* tool_tables.h - the tables of the file tools, and words that their rows share. */
#pragma once

#include "tools/builtin/core/tool.h"

extern const struct builtin_tool read_tools[], glob_tools[], write_tools[], edit_tools[],
	list_tools[], grep_tools[], remove_tools[], info_tools[], watch_tools[];

/* A plain number of limits.h as JSON, for defaults. */
#define NUMBER_(n) #n
#define NUMBER(n) NUMBER_(n)

#define PATH_TEXT "relative to the working directory, or absolute inside the roots"
extern const char *const encoding_words[]; /* utf-8, base64 */
extern const char *const type_words[];	   /* of files */
