/*
 * model_text.h - the text of a result for a model.
 *
 * Each result is written twice: for programs as structuredContent, exact and as large as the tool allows; for models as
 * text content, plain and bounded: at most TOOL_SHOW_LINES lines or TOOL_SHOW_BYTES, whole lines, no JSON and no
 * escapes, line numbers where an edit or a further read needs them. Where a part is left out, a line in brackets says
 * which, and how to read on. Harnesses that show their model structuredContent get the text only
 * (mcp/tag_backend.h).
 *
 * A tool that has the bytes in memory writes its text itself (tool_answer). A tool whose result is a list has a
 * function in its row that writes it from the members. model_text_plain writes all others, and errors, with a line for
 * each member. Contents of files and output of commands are shown unchanged, but names with control characters are
 * quoted, so that no name can look like two lines.
 */
#pragma once

#include "base/buf.h"
#include "tools/builtin/core/tool.h"

/* members: raw object. "key: value" for each, lists one element a line, null left out. */
void model_text_plain(struct buf *out, struct slice object);
/* CODE: message, and the other members of the error. error: raw object. */
void model_text_error(struct buf *out, struct slice error);
/* Places in a file, as it is: from there the text can be taken. */
void model_text_nearest(struct buf *out, struct jval list);
/* Cuts any text at the limits; a last line says how much is missing. */
void model_text_limit(struct buf *out, size_t room);

/* For tool->show: lists in a form of their own. room: bytes, at most TOOL_SHOW_BYTES. */
void list_text_files(struct buf *out, struct slice object, size_t room);
void list_text_contents(struct buf *out, struct slice object, size_t room);
void list_text_matches(struct buf *out, struct slice object, size_t room);
void list_text_patch(struct buf *out, struct slice object, size_t room);
void testrun_text(struct buf *out, struct slice object, size_t room);

struct model_text_lines {
	int64_t first;	/* number of the first line; 0: unknown, none are shown */
	int64_t offset; /* of the text in its file, for lines that are too long */
	int64_t most;	/* lines */
	size_t bytes;	/* of out that may be added */
	int64_t shown;	/* returned: lines */
	size_t used;	/* returned: bytes of text that they represent */
};
/* Numbered, whole lines; one that is longer than TOOL_SHOW_LINE is cut and says how to read it. */
void model_text_lines(struct buf *out, struct slice text, struct model_text_lines *l);
/* A string member's bytes. */
void model_text_member(struct slice object, const char *key, struct buf *ret);
/* A name: quoted if it has control characters. */
void model_text_name(struct buf *out, struct slice name);
/* Without colours and other controls of a terminal, which are useless to a model; a carriage return begins a
 * line anew. */
void model_text_clean(struct buf *out, struct slice text);
/* How many lines it is; the last need not have an end. */
int64_t model_text_count(struct slice text);
/* At most n bytes, whole characters. */
size_t model_text_cut(struct slice text, size_t n);
