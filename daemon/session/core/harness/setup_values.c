/*
 * setup_values.c - the parameters of a session as values: given by a call, checked, kept, changed. One way for all rows
 * (session_parameter.h); what a row does differently is a hook of it.
 *
 * A value changes if its text does. So a typed value needs no comparison of its own, a copy is made of the text, and the
 * record has the bytes that are compared.
 */
#include "session/core/harness/setup.h"

#include "base/limits.h"
#include "json/jstr.h"

/* --- what a call gives ----------------------------------------------------------------------------------- */

const struct parameter_given *setup_given(const struct setup_params *p,
					  const struct session_parameter *of)
{
	for (size_t i = 0; i < p->ngiven; i++)
		if (p->given[i].of == of)
			return p->given[i].v.type > J_NULL ? &p->given[i] : NULL;
	return NULL;
}

struct slice setup_given_text(const struct setup_params *p, const struct session_parameter *of)
{
	const struct parameter_given *g = setup_given(p, of);

	return g ? g->v.raw : SLICE_NONE;
}

bool setup_given_value(const struct setup_params *p, const struct session_parameter *of, void *ret)
{
	const struct parameter_given *g = setup_given(p, of);

	return g && of->parse(g->v, "", ret, NULL) == 0;
}

struct parameter_given *setup_give(struct setup_params *p, const struct session_parameter *of,
				   struct jval v)
{
	size_t i = 0;

	while (i < p->ngiven && p->given[i].of != of)
		i++;
	if (i == PARAMETERS_GIVEN_MAX)
		abort();
	p->given[i].of = of;
	p->given[i].v = v;
	p->ngiven = MAX(p->ngiven, i + 1);
	return &p->given[i];
}

static void value_free(const struct session_parameter *of, void *value)
{
	if (value && of->done)
		of->done(value);
	free(value);
}

static int check_typed(const struct session_parameter *of, struct jval v, const char *field,
		       struct err *e)
{
	void *value = xalloc(of->size);
	int r = of->parse(v, field, value, e);

	value_free(of, value);
	return r;
}

int parameter_check(const struct session_parameter *of, const struct parameter_check *c,
		    struct err *e)
{
	const struct parameter_given *g = setup_given(c->params, of);
	struct parameter_check own = *c;
	char field[96];
	int r = 0;

	if (!g)
		return 0;
	snprintf(field, sizeof(field), "_meta.acpd.%s", of->name);
	own.field = g->field ? g->field : field;
	if (of->parse)
		r = check_typed(of, g->v, own.field, e);
	return r == 0 && of->check ? of->check(g->v, &own, e) : r;
}

/* --- what a session has ---------------------------------------------------------------------------------- */

static struct parameter_value *value_find(const struct setup *s, const struct session_parameter *of)
{
	for (size_t i = 0; i < s->nvalues; i++)
		if (s->values[i].of == of)
			return &s->values[i];
	return NULL;
}

static char **kept_slot(const struct setup *s, const struct session_parameter *of)
{
	return (char **)((const char *)s + of->kept);
}

const char *setup_text(const struct setup *s, const struct session_parameter *of)
{
	const struct parameter_value *v = of->kept ? NULL : value_find(s, of);

	return of->kept ? *kept_slot(s, of) : v ? v->text : NULL;
}

/* An absent value is all zeros (session_parameter.h). */
static const void *value_or_zeros(const struct session_parameter *of, const void *value)
{
	static const max_align_t zeros[16];

	if (of->size > sizeof(zeros))
		abort();
	return value ? value : zeros;
}

const void *setup_value(const struct setup *s, const struct session_parameter *of)
{
	const struct parameter_value *v = value_find(s, of);

	return value_or_zeros(of, v ? v->value : NULL);
}

/* What is compared. "[]" and an absent list mean the same, and must not restart the harness. */
static const char *meaning(const char *text)
{
	return text && strcmp(text, "[]") != 0 ? text : NULL;
}

bool setup_same(const char *a, const char *b)
{
	return str_equal(meaning(a), meaning(b));
}

/* Takes over text and value. */
static void value_install(struct setup *s, const struct session_parameter *of, char *text,
			  void *value)
{
	struct parameter_value *v = value_find(s, of);

	if (of->kept) {
		setup_free_text(*kept_slot(s, of));
		*kept_slot(s, of) = text;
		return;
	}
	if (!v) {
		v = GROW(s->values, s->nvalues);
		*v = (struct parameter_value){ .of = of };
	}
	setup_free_text(v->text);
	value_free(of, v->value);
	v->text = text;
	v->value = value;
}

/* The typed value of v, with the members that only the earlier one has; NULL, and no text: it says nothing. */
static void *read_typed(const struct session_parameter *of, struct jval v, bool recorded,
			const void *earlier, char **text)
{
	void *value = xalloc(of->size);
	JW_BUF(w, b);
	int r = 0;

	if (recorded && of->load)
		of->load(v, value);
	else
		r = of->parse(v, "", value, NULL);
	if (r == 0 && earlier && of->merge)
		of->merge(value, earlier);
	if (r == 0)
		of->put(value, &w, NULL);
	*text = b.len ? xstrndup(b.data, b.len) : NULL;
	if (b.len)
		return value;
	value_free(of, value);
	return NULL;
}

unsigned setup_change(struct setup *s, const struct session_parameter *of, struct jval v)
{
	unsigned changed = of->change;
	const char *had = setup_text(s, of);
	void *value = NULL;
	char *text;

	if (of->size)
		value = read_typed(of, v, false, setup_value(s, of), &text);
	else
		text = xstrndup(v.raw.p, v.raw.n);
	if (setup_same(had, text)) {
		value_free(of, value);
		free(text);
		return 0;
	}
	if (of->effect)
		changed = of->effect(s, setup_value(s, of), value_or_zeros(of, value));
	value_install(s, of, text, value);
	return changed | SETUP_CHANGED;
}

/* text: of a value that was kept before; NULL: absent. */
static void value_set_text(struct setup *s, const struct session_parameter *of, const char *text,
			   const void *earlier)
{
	char *copy = NULL;
	void *value = NULL;
	struct jval v;

	if (!text || !of->size)
		copy = xstrdup(text);
	else if (jscan_value(slice_of(text), &v) == JSCAN_OK)
		value = read_typed(of, v, true, earlier, &copy);
	value_install(s, of, copy, value);
}

/* --- all of them ----------------------------------------------------------------------------------------- */

unsigned setup_apply_given(struct setup *s, const struct setup_params *p)
{
	unsigned changed = 0;

	for (const struct session_parameter *const *at = session_parameters(); *at; at++) {
		const struct session_parameter *row = *at;
		const struct parameter_given *g = setup_given(p, row);

		if (row->apply)
			changed |= row->apply(s, p);
		else if (row->order.stored && g && g->v.raw.n)
			changed |= setup_change(s, row, g->v);
	}
	return changed;
}

static bool is_kept(const struct session_parameter *row)
{
	return row->order.stored || row->kept;
}

void setup_inherit_values(struct setup *s, const struct setup *from)
{
	for (const struct session_parameter *const *at = session_parameters(); *at; at++) {
		const struct session_parameter *row = *at;
		const char *mine = is_kept(row) ? setup_text(s, row) : NULL;
		const char *theirs = is_kept(row) ? setup_text(from, row) : NULL;

		if (row->inherit)
			row->inherit(s, from);
		else if (theirs && !row->own && !mine)
			value_set_text(s, row, theirs, NULL);
		else if (theirs && !row->own && row->merge)
			value_set_text(s, row, mine, setup_value(from, row));
	}
}

void setup_copy_values(struct setup *s, const struct setup *from)
{
	s->values = NULL;
	s->nvalues = 0;
	for (size_t i = 0; i < from->nvalues; i++)
		value_set_text(s, from->values[i].of, from->values[i].text, NULL);
}

void setup_free_values(struct setup *s)
{
	for (size_t i = 0; i < s->nvalues; i++) {
		value_free(s->values[i].of, s->values[i].value);
		setup_free_text(s->values[i].text);
	}
	free(s->values);
}

/* --- the record ------------------------------------------------------------------------------------------ */

static void value_put(const struct setup *s, const struct session_parameter *row, struct jw *w)
{
	const char *text = setup_text(s, row);

	if (row->put_record)
		row->put_record(s, w);
	else if (row->type == JF_T_STR)
		jw_str(w, row->name, text);
	else
		jw_raw(w, row->name, slice_of(text));
}

void setup_put(const struct setup *s, struct jw *w)
{
	for (const struct session_parameter *const *row = session_parameters_stored(); *row; row++)
		value_put(s, *row, w);
}

/* A member that is absent or of another type clears the value: a record replaces the one before it. */
static void value_load(struct setup *s, const struct session_parameter *row, struct jval v)
{
	char *text = NULL;
	void *value = NULL;

	if (row->size && v.type > J_NULL)
		value = read_typed(row, v, true, NULL, &text);
	else if (row->type == JF_T_STR)
		jstr_decode(v, 2 * MIB, &text);
	else if (v.type == (row->type == JF_T_ARR ? J_ARRAY : J_OBJECT))
		text = xstrndup(v.raw.p, v.raw.n);
	value_install(s, row, text, value);
}

void setup_load(struct setup *s, struct slice record)
{
	for (const struct session_parameter *const *at = session_parameters_stored(); *at; at++) {
		const struct session_parameter *row = *at;

		if (row->load_record)
			row->load_record(s, record);
		else
			value_load(s, row, jobj_get(record, row->name));
	}
	/* Last: it borrows from provider and model, which are loaded above. */
	setup_parse_gateway(s);
}

void setup_forget_keys(struct setup *s)
{
	_cleanup_(buf_done) struct buf record = { 0 };
	struct jw w = JW(&record);

	jw_obj(&w, NULL);
	/* Through the record: what is lost is exactly what a restart of the daemon loses. */
	setup_put(s, &w);
	jw_end_obj(&w);
	setup_done(s);
	setup_load(s, buf_slice(&record));
}

void setup_put_names(unsigned changes, struct jw *w)
{
	for (unsigned n = 1; n < 32; n++) {
		const struct session_parameter *const *row = session_parameters();

		if (!(changes & SETUP_RESTARTS(n)))
			continue;
		while (*row && !((*row)->change & SETUP_RESTARTS(n)))
			row++;
		if (*row)
			jw_str(w, NULL, (*row)->name);
	}
}
