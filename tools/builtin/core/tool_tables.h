/*
 * tool_tables.h - the tables of the file tools, the one order of all tools, and words that rows share. All of it is
 * constant.
 */
#pragma once

#include "tools/builtin/core/tool.h"

extern const struct builtin_tool read_tools[], glob_tools[], write_tools[], edit_tools[],
	list_tools[], grep_tools[], remove_tools[], info_tools[], watch_tools[];

/* The i-th tool of all, in the order of tools/list; NULL: there is none. */
const struct builtin_tool *tool_at(size_t i);
/* Some tool has that name, or one that the glob matches. */
bool tool_known(const char *glob);
/* NULL: there is none of that name. */
const struct builtin_tool *tool_find(struct slice name);

/* A plain number of limits.h as JSON, for defaults. */
#define NUMBER_(n) #n
#define NUMBER(n) NUMBER_(n)

#define PATH_TEXT "relative to the working directory, or absolute inside the roots"
extern const char *const encoding_words[]; /* utf-8, base64 */
extern const char *const type_words[];	   /* of files */
