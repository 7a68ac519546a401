/* skill_report.c - findings, and the report as JSON. */
#include "skill/skill_internal.h"

#include <stdarg.h>
#include <stdio.h>

void skill_report_init(struct skill_report *r)
{
	*r = (struct skill_report){ .valid = true, .usable = true };
}

static void skill_done(struct skill *s)
{
	char *strings[] = { s->name, s->description, s->license, s->compatibility,
			    s->allowed_tools };

	for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
		free(strings[i]);
	for (size_t i = 0; i < s->nmetadata; i++) {
		free(s->metadata[i].key);
		free(s->metadata[i].value);
	}
	for (size_t i = 0; i < s->nunknown; i++)
		free(s->unknown[i]);
	free(s->metadata);
	free(s->unknown);
}

void skill_report_done(struct skill_report *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->findings[i].field);
		free(r->findings[i].path);
		free(r->findings[i].message);
	}
	free(r->findings);
	skill_done(&r->skill);
	memset(r, 0, sizeof(*r));
}

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

static void put_skill(const struct skill *s, struct jw *w)
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

static void put_finding(const struct skill_finding *f, struct jw *w)
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

void skill_report_put(const struct skill_report *r, struct jw *w)
{
	jw_bool(w, "valid", r->valid);
	jw_bool(w, "usable", r->usable);
	put_skill(&r->skill, w);
	if (r->files) {
		jw_uint(w, "files", r->files);
		jw_uint(w, "bytes", r->bytes);
	}
	jw_arr(w, "findings");
	for (size_t i = 0; i < r->n; i++)
		put_finding(&r->findings[i], w);
	jw_end_arr(w);
	if (r->left_out)
		jw_uint(w, "findingsLeftOut", r->left_out);
}
