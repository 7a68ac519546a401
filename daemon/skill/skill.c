/*
 * skill.c - one SKILL.md as a whole, and the report of findings with its JSON.
 *
 * A finding never ends a check: the report has all of them, so that an author repairs a skill once. Findings beyond
 * SKILL_FINDINGS_MAX are only counted, because a hostile skill can have as many as it has bytes.
 */
#include "skill/skill_internal.h"

#include "base/format/utf8.h"
#include "base/strv.h"

#include <stdarg.h>

/* --- the report ------------------------------------------------------------------------------------------ */

void skill_report_init(struct skill_report *r)
{
	*r = (struct skill_report){ .valid = true, .usable = true };
}

static void skill_done(struct skill *s)
{
	for (size_t i = 0; i < s->nmetadata; i++)
		free_each(s->metadata[i].key, s->metadata[i].value);
	free_each(s->name, s->description, s->license, s->compatibility, s->allowed_tools,
		  s->metadata);
	strv_free_n(s->unknown, s->nunknown);
}

void skill_report_done(struct skill_report *r)
{
	for (size_t i = 0; i < r->n; i++)
		free_each(r->findings[i].field, r->findings[i].path, r->findings[i].message);
	free(r->findings);
	skill_done(&r->skill);
	memset(r, 0, sizeof(*r));
}

/* Whether a skill is valid and usable is decided also by findings that are only counted. */
void skill_note(struct skill_report *r, enum skill_severity severity, const char *code,
		struct skill_at at, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	r->valid = r->valid && severity == SKILL_WARNING;
	r->usable = r->usable && severity != SKILL_FATAL;
	if (!r->findings)
		r->findings = xalloc(SKILL_FINDINGS_MAX * sizeof(*r->findings));
	if (r->n == SKILL_FINDINGS_MAX) {
		r->left_out++;
		return;
	}
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* Messages quote text of the skill, and a message is one line. */
	err_flatten(text);
	r->findings[r->n++] = (struct skill_finding){
		.severity = severity,
		.code = code,
		.field = xstrdup(at.field),
		.path = xstrdup(at.path),
		.line = at.line,
		.has_limit = at.has_limit,
		.limit = at.limit,
		.used = at.used,
		.message = xstrdup(text),
	};
}

static void skill_put(const struct skill *s, struct jw *w)
{
	jw_str(w, "name", s->name);
	jw_str(w, "description", s->description);
	jw_str(w, "license", s->license);
	jw_str(w, "compatibility", s->compatibility);
	jw_str(w, "allowedTools", s->allowed_tools);
	if (s->nmetadata) {
		jw_obj(w, "metadata");
		for (size_t i = 0; i < s->nmetadata; i++) {
			jw_lead_key(w, s->metadata[i].key);
			jw_str(w, NULL, s->metadata[i].value);
		}
		jw_end_obj(w);
	}
	if (s->nunknown) {
		jw_arr(w, "unknownKeys");
		for (size_t i = 0; i < s->nunknown; i++)
			jw_str(w, NULL, s->unknown[i]);
		jw_end_arr(w);
	}
}

static void skill_put_finding(const struct skill_finding *f, struct jw *w)
{
	jw_obj(w, NULL);
	jw_str(w, "severity", f->severity == SKILL_WARNING ? "warning" : "error");
	if (f->severity == SKILL_FATAL)
		jw_bool(w, "fatal", true);
	jw_str(w, "code", f->code);
	jw_str(w, "field", f->field);
	jw_str(w, "path", f->path);
	if (f->line)
		jw_uint(w, "line", f->line);
	if (f->has_limit) {
		jw_uint(w, "limit", f->limit);
		jw_uint(w, "used", f->used);
	}
	jw_str(w, "message", f->message);
	jw_end_obj(w);
}

/* Members that the file does not have are left out; findings are in the order in which they were found. */
void skill_report_put(const struct skill_report *r, struct jw *w)
{
	jw_bool(w, "valid", r->valid);
	jw_bool(w, "usable", r->usable);
	skill_put(&r->skill, w);
	if (r->files) {
		jw_uint(w, "files", r->files);
		jw_uint(w, "bytes", r->bytes);
	}
	jw_arr(w, "findings");
	for (size_t i = 0; i < r->n; i++)
		skill_put_finding(&r->findings[i], w);
	jw_end_arr(w);
	if (r->left_out)
		jw_uint(w, "findingsLeftOut", r->left_out);
}

/* --- one file -------------------------------------------------------------------------------------------- */

/* The repair is tried only for text that is not YAML at all, and only the first fault is reported: its line is the one that
 * the author sees. */
static bool skill_parse(struct slice yaml, struct front_tree *ret, struct skill_report *r)
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
static void skill_note_extras(const struct front_tree *t, struct skill_report *r)
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

/* Lines and bytes are advice of the format, so they are warnings. */
static void skill_check_body(struct slice body, struct skill_report *r)
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

/* Each step needs what the one before it has found; a fatal finding ends the check. */
void skill_check_file(struct slice file, const char *dir, struct skill_report *r)
{
	_cleanup_(front_tree_done) struct front_tree tree = { 0 };
	struct slice yaml, body;

	if (file.n > SKILL_FILE_MAX) {
		skill_note(r, SKILL_FATAL, "FILE_TOO_LARGE", AT_LIMIT(NULL, SKILL_FILE_MAX, file.n),
			   "the file has more than %lu bytes", SKILL_FILE_MAX);
		return;
	}
	if (!front_split(file, &yaml, &body, r))
		return;
	if (!skill_parse(yaml, &tree, r))
		return;
	skill_note_extras(&tree, r);
	skill_check_fields(&tree.nodes[0], dir, r);
	skill_check_body(body, r);
}
