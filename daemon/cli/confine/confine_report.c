/*
 * confine_report.c - prints the result of acpd confine try, for a human or as one JSON object.
 *
 * Both formats read the same struct, and list each refusal with the rule that allows it. Harmless
 * refusals are listed but do not change the verdict. Refusals that found no space in the list do,
 * because nothing is known of them.
 */
#include "cli/confine/confine_try.h"

#include "base/util.h"
#include "json/jenc.h"

bool confine_report_refused(const struct try_result *t)
{
	for (size_t i = 0; i < t->n_refused; i++)
		if (!refusal_is_harmless(&t->refused[i]))
			return true;
	return t->more > 0;
}

/* --- JSON ----------------------------------------------------------------------------------------------------- */

static void report_put_level(const struct try_result *t, struct jw *w)
{
	jw_obj(w, "level");
	jw_str(w, "requested", level_name(t->level));
	jw_str(w, "achieved", t->n_missing ? "partial" : level_name(t->level));
	jw_arr(w, "missing");
	for (size_t i = 0; i < t->n_missing; i++)
		jw_object(w, NULL, JW_STR("what", t->missing[i].what),
			  JW_STR("why", t->missing[i].why));
	jw_end_arr(w);
	jw_end_obj(w);
}

static void report_put_refusal(const struct refusal *r, struct jw *w)
{
	_cleanup_(buf_done) struct buf rule = { 0 };

	refusal_put_rule(r, &rule);
	jw_obj(w, NULL);
	jw_str(w, "call", r->call);
	jw_str(w, "detail", r->detail[0] ? r->detail : NULL);
	jw_str(w, "errno", refusal_errno(r));
	jw_uint(w, "count", r->count);
	jw_str(w, "why", refusal_why(r));
	jw_slice(w, "rule", buf_slice(&rule));
	if (refusal_is_harmless(r))
		jw_bool(w, "harmless", true);
	jw_end_obj(w);
}

void confine_report_json(const struct try_result *t, struct buf *b)
{
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	report_put_level(t, &w);
	jw_int(&w, t->exited ? "exitCode" : "signal", t->code);
	jw_arr(&w, "refused");
	for (size_t i = 0; i < t->n_refused; i++)
		report_put_refusal(&t->refused[i], &w);
	jw_end_arr(&w);
	if (t->more)
		jw_uint(&w, "more", t->more);
	jw_end_obj(&w);
	buf_putc(b, '\n');
}

/* --- for a human ---------------------------------------------------------------------------------------------- */

static void print_refusal(const struct refusal *r, struct buf *b)
{
	buf_printf(b, "  %s%s%s: %s", r->call, r->detail[0] ? " " : "", r->detail,
		   refusal_errno(r));
	if (r->count > 1)
		buf_printf(b, ", %llu times", (unsigned long long)r->count);
	if (refusal_why(r))
		buf_printf(b, " (%s)", refusal_why(r));
	buf_puts(b, "\n      allowed by: ");
	refusal_put_rule(r, b);
	buf_putc(b, '\n');
}

static void print_end(const struct try_result *t, struct buf *b)
{
	buf_printf(b, "acpd: level %s", level_name(t->level));
	for (size_t i = 0; i < t->n_missing; i++)
		buf_printf(b, "%s%s (%s)", i ? ", " : " without ", t->missing[i].what,
			   t->missing[i].why);
	buf_printf(b, t->exited ? ": exit code %d" : ": killed by signal %d", t->code);
	buf_puts(b, t->n_refused || t->more ? "; refused:\n" : "; nothing was refused\n");
}

void confine_report_text(const struct try_result *t, struct buf *b)
{
	print_end(t, b);
	for (size_t i = 0; i < t->n_refused; i++)
		print_refusal(&t->refused[i], b);
	if (t->more)
		buf_printf(b, "  and %llu more\n", (unsigned long long)t->more);
}
