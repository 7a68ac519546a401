/*
 * config_options.c - searches and checks the raw ACP configOptions of a harness. Pure.
 *
 * Nothing is parsed into structures: each call scans the current array of the harness. Choices are
 * visited through one level of groups, as in the ACP schema. A name matches a value exactly, or as
 * the suffix after "/": harnesses prefix a model with its provider. A suffix that matches twice is
 * ambiguous and matches nothing.
 */
#include "session/core/harness/config_options.h"

#include "json/jstr.h"

#define VALUE_MAX 4096

struct slice option_of_category(struct slice config, const char *category)
{
	/* Categories are ACP's ("model", "mode"); ids are chosen by each harness. */
	jarr_each(v, config)
		if (v.type == J_OBJECT && jstr_is(jobj_get(v.raw, "category"), category) &&
		    jstr_is(jobj_get(v.raw, "type"), "select"))
			return v.raw;
	return SLICE_NONE;
}

struct slice option_current(struct slice option)
{
	struct jval v = jobj_get(option, "currentValue");

	return v.type == J_STRING ? v.raw : SLICE_NONE;
}

/* fn for each {value, name}, through one level of groups, until it returns false. */
static void each_choice(struct slice option, bool (*fn)(void *ctx, struct slice choice), void *ctx)
{
	jarr_each(v, jobj_get(option, "options")) {
		bool single = jobj_get(v.raw, "value").type == J_STRING;

		if (single && !fn(ctx, v.raw))
			return;
		if (single)
			continue;
		jarr_each(choice, jobj_get(v.raw, "options"))
			if (choice.type == J_OBJECT && !fn(ctx, choice.raw))
				return;
	}
}

struct option_search {
	const char *name;
	char *exact, *suffix;
	unsigned suffixes;
};

static bool ends_in(const char *value, const char *name)
{
	size_t v = strlen(value), n = strlen(name);

	return v > n && value[v - n - 1] == '/' && strcmp(value + v - n, name) == 0;
}

static bool option_compare(void *ctx, struct slice choice)
{
	struct option_search *x = ctx;
	char *value = NULL;

	if (jstr_decode(jobj_get(choice, "value"), VALUE_MAX, &value) < 0)
		return true;
	if (strcmp(value, x->name) == 0) {
		x->exact = value;
		return false;
	}
	/* The first match is stored. A second one makes the name ambiguous. */
	if (ends_in(value, x->name) && x->suffixes++ == 0)
		x->suffix = value;
	else
		free(value);
	return true;
}

char *option_find_value(struct slice option, const char *name)
{
	struct option_search x = { .name = name };

	each_choice(option, option_compare, &x);
	/* exact and suffix may both be set. The exact one is the answer, and the other is freed. */
	if (x.exact || x.suffixes != 1) {
		free(x.suffix);
		return x.exact;
	}
	return x.suffix;
}

static bool put_value(void *ctx, struct slice choice)
{
	struct jval v = jobj_get(choice, "value");

	if (v.type == J_STRING)
		jw_raw(ctx, NULL, v.raw);
	return true;
}

void option_put_values(struct slice option, struct jw *w, const char *key)
{
	jw_arr(w, key);
	each_choice(option, put_value, w);
	jw_end_arr(w);
}

static struct slice find_by_id(struct slice config, const char *id)
{
	jarr_each(v, config)
		if (v.type == J_OBJECT && jstr_is(jobj_get(v.raw, "id"), id))
			return v.raw;
	return SLICE_NONE;
}

static bool is_choice(struct slice option, const char *name)
{
	struct option_search x = { .name = name };
	bool found;

	each_choice(option, option_compare, &x);
	/* A client must send the exact value. Suffixes are for names in the setup. */
	found = x.exact != NULL;
	free_each(x.suffix, x.exact);
	return found;
}

static bool value_fits(struct slice option, struct jval value)
{
	_cleanup_(freep) char *text = NULL;

	if (jstr_is(jobj_get(option, "type"), "boolean"))
		return value.type == J_TRUE || value.type == J_FALSE;
	return jstr_decode(value, VALUE_MAX, &text) == 0 && is_choice(option, text);
}

int options_check(struct slice config, struct slice params, struct slice *ret_option, struct err *e)
{
	struct jslot p[] = { { .key = "configId" }, { .key = "value" } };
	_cleanup_(freep) char *id = NULL;
	struct slice option;

	if (jscan_object(params, p, ARRAY_SIZE(p)) != JSCAN_OK || jstr_decode(p[0].v, 256, &id) < 0)
		return err_field(e, "configId", "FIELD_INVALID", "configId must be a string");
	option = find_by_id(config, id);
	if (!option.n)
		return err_field(e, "configId", "CONFIG_UNKNOWN", "the session has no such option");
	if (ret_option)
		*ret_option = option;
	if (!value_fits(option, p[1].v))
		return err_field(e, "value", "CONFIG_VALUE_UNKNOWN",
				 "the option has no such value");
	return 0;
}

static bool option_put_mode(void *ctx, struct slice choice)
{
	struct jval id = jobj_get(choice, "value"), name = jobj_get(choice, "name"),
		    about = jobj_get(choice, "description");
	struct jw *w = ctx;

	if (id.type != J_STRING)
		return true;
	jw_obj(w, NULL);
	jw_raw(w, "id", id.raw);
	jw_raw(w, "name", name.type == J_STRING ? name.raw : id.raw);
	if (about.type == J_STRING)
		jw_raw(w, "description", about.raw);
	jw_end_obj(w);
	return true;
}

bool options_put_modes(struct slice config, struct jw *w)
{
	struct slice option = option_of_category(config, "mode"), current = option_current(option);

	if (!current.n)
		return false;
	jw_obj(w, NULL);
	jw_raw(w, "currentModeId", current);
	jw_arr(w, "availableModes");
	each_choice(option, option_put_mode, w);
	jw_end_arr(w);
	jw_end_obj(w);
	return true;
}
