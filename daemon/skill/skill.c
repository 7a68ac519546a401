/* skill.c - one SKILL.md: splits it, reads its YAML, applies the rules. */
#include "skill/skill_internal.h"

static bool parse(struct slice yaml, struct front_tree *ret, struct skill_report *r)
{
	_cleanup_(buf_done) struct buf quoted = { 0 };
	struct front_fault first, again;

	if (front_parse(yaml, ret, &first))
		return true;
	if (strcmp(first.code, "YAML_INVALID") == 0 && front_quote(yaml, &quoted)) {
		front_tree_done(ret);
		if (front_parse(buf_slice(&quoted), ret, &again)) {
			skill_note(r, SKILL_ERROR, "YAML_UNQUOTED_COLON",
				   (struct skill_at){ .line = first.line },
				   "a value with a colon needs quotes; read as if it had them");
			return true;
		}
	}
	skill_note(r, SKILL_FATAL, first.code, (struct skill_at){ .line = first.line }, "%s",
		   first.msg);
	return false;
}

/* The reference validator reads a subset of YAML in which these do not exist. */
static void note_extras(const struct front_tree *t, struct skill_report *r)
{
	static const struct {
		const char *code, *msg;
	} rows[FRONT_EXTRAS] = {
		[FRONT_FLOW] = { "YAML_FLOW", "lists and mappings in brackets are not allowed" },
		[FRONT_ANCHOR] = { "YAML_ANCHOR", "anchors (&name) are not allowed" },
		[FRONT_TAG] = { "YAML_TAG", "tags (!name) are not allowed" },
	};

	for (size_t i = 0; i < FRONT_EXTRAS; i++)
		if (t->extra[i])
			skill_note(r, SKILL_ERROR, rows[i].code,
				   (struct skill_at){ .line = t->extra[i] }, "%s", rows[i].msg);
}

static void check_body(struct slice body, struct skill_report *r)
{
	struct skill_at at = { .field = "body", .has_limit = true };
	bool blank = true;

	at.used = body.n && body.p[body.n - 1] != '\n';
	for (size_t i = 0; i < body.n; i++) {
		at.used += body.p[i] == '\n';
		blank = blank && body.p[i] && strchr(" \t\r\n", body.p[i]);
	}
	if (!utf8_valid(body))
		skill_note(r, SKILL_ERROR, "BODY_NOT_UTF8", AT_FIELD("body", 0),
			   "what follows the frontmatter is not UTF-8");
	if (blank)
		skill_note(r, SKILL_WARNING, "BODY_EMPTY", AT_FIELD("body", 0),
			   "there are no instructions");
	at.limit = SKILL_BODY_LINES;
	if (at.used > at.limit)
		skill_note(r, SKILL_WARNING, "BODY_LONG", at,
			   "%zu lines; fewer than %d are advised", (size_t)at.used,
			   SKILL_BODY_LINES);
	at.limit = SKILL_BODY_BYTES;
	at.used = body.n;
	if (at.used > at.limit)
		skill_note(r, SKILL_WARNING, "BODY_LARGE", at,
			   "%zu bytes; fewer than 5000 tokens are advised", body.n);
}

void skill_check_file(struct slice file, const char *dir, struct skill_report *r)
{
	_cleanup_(front_tree_done) struct front_tree tree = { 0 };
	struct slice yaml, body;

	if (file.n > SKILL_FILE_MAX) {
		skill_note(r, SKILL_FATAL, "FILE_TOO_LARGE",
			   (struct skill_at){
				   .has_limit = true, .limit = SKILL_FILE_MAX, .used = file.n },
			   "the file has more than %lu bytes", SKILL_FILE_MAX);
		return;
	}
	if (!front_split(file, &yaml, &body, r))
		return;
	if (!parse(yaml, &tree, r))
		return;
	note_extras(&tree, r);
	skill_check_fields(&tree.nodes[0], dir, r);
	check_body(body, r);
}
