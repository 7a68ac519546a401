#include "tools/builtin/core/tool_tables.h"

#include "tree/glob.h"
#include "tools/builtin/core/toolbox_internal.h"

const char *const encoding_words[] = { "utf-8", "base64", NULL };
const char *const type_words[] = {
	"file", "dir", "symlink", "fifo", "socket", "block", "char", NULL
};

/* The order of tools/list. */
static const struct builtin_tool *const families[] = {
	read_tools,    glob_tools,    write_tools,  edit_tools,	 patch_tools,
	list_tools,    grep_tools,    remove_tools, info_tools,	 watch_tools,
	command_tools, process_tools, pr_tools,	    other_tools,
};

const struct builtin_tool *tool_at(size_t i)
{
	for (size_t f = 0; f < ARRAY_SIZE(families); f++)
		for (const struct builtin_tool *t = families[f]; t->name; t++)
			if (i-- == 0)
				return t;
	return NULL;
}

bool tool_known(const char *glob)
{
	const struct builtin_tool *t;

	for (size_t i = 0; (t = tool_at(i)); i++)
		if (glob_match(slice_of(glob), slice_of(t->name), false))
			return true;
	return false;
}

const struct builtin_tool *tool_find(struct slice name)
{
	const struct builtin_tool *t;

	for (size_t i = 0; (t = tool_at(i)); i++)
		if (slice_is(name, t->name))
			return t;
	return NULL;
}
