/*
 * options.c - config options as the core wants them. Model values lose the prefix of our own provider; an agent that
 * still offers its models by session/set_model, or takes the one model from its environment, gets an option "model"
 * made for it. The agent's last report is kept raw, and the list is made anew each time.
 */
#include "harnesses/acp/internal.h"

#include "json/json.h"

void acp_options_note(struct harness *h, struct slice result)
{
	struct jval current;

	jraw_set(&h->options, jobj_get(result, "configOptions"), J_ARRAY);
	jraw_set(&h->modes, jobj_get(result, "modes"), J_OBJECT);
	jraw_set(&h->models, jobj_get(result, "models"), J_OBJECT);
	current = jobj_get(jobj_get(result, "models").raw, "currentModelId");
	if (current.type == J_STRING && !jstr_set(&h->chosen, current, 256))
		xstrset(&h->chosen, NULL);
}

const char *acp_model_prefix(const struct harness *h)
{
	return h->with_provider ? h->quirks->model_prefix : NULL;
}

static bool is_model(struct jval option)
{
	return option.type == J_OBJECT && jstr_is(jobj_get(option.raw, "category"), "model");
}

static bool has_model_option(const struct harness *h)
{
	jarr_each(v, slice_of(h->options))
		if (is_model(v))
			return true;
	return false;
}

/* session/set_model is older than config options: an agent that has both is set by its option. */
bool acp_model_is_legacy(const struct harness *h)
{
	return !has_model_option(h) && h->models;
}

bool acp_is_model_option(const struct harness *h, struct jval config_id)
{
	if (!has_model_option(h))
		return jstr_is(config_id, "model");
	jarr_each(v, slice_of(h->options))
		if (is_model(v) && slice_eq(jobj_get(v.raw, "id").raw, config_id.raw))
			return true;
	return false;
}

static void put_unprefixed(struct jw *w, const char *key, struct jval v, const char *prefix)
{
	_cleanup_(freep) char *text = NULL;
	size_t n = strlen(prefix);

	if (jstr_decode(v, 4096, &text) == 0 && strncmp(text, prefix, n) == 0)
		jw_str(w, key, text + n);
	else
		jw_raw(w, key, v.raw);
}

/* The members of an option, or of one of its values (or of a group of them), where those named hold a model. */
static void put_model_option(struct jw *w, struct jval option, const char *prefix,
			     const char *const *models)
{
	static const char *const of_choice[] = { "value", "name", NULL };

	jw_obj(w, NULL);
	jobj_each(key, v, option) {
		const char *const *m = models;
		struct jval choice;
		struct jiter it;

		while (*m && !jkey_is(key, *m))
			m++;
		if (*m) {
			put_unprefixed(w, *m, v, prefix);
		} else if (!jkey_is(key, "options") || !jiter_init(&it, v)) {
			jw_member_raw(w, key, v.raw);
		} else {
			jw_arr(w, "options");
			while (jiter_next(&it, NULL, &choice))
				if (choice.type == J_OBJECT)
					put_model_option(w, choice, prefix, of_choice);
			jw_end_arr(w);
		}
	}
	jw_end_obj(w);
}

static void put_model_choice(struct jw *w, struct slice value, struct slice name)
{
	jw_object(w, NULL, JW_RAW("value", value), JW_RAW("name", name.n ? name : value));
}

/* The current model need not be one that the agent offers. */
static void put_legacy_choices(const struct harness *h, struct jw *w, struct slice current)
{
	bool listed = false;

	jarr_each(v, jobj_get(slice_of(h->models), "availableModels")) {
		struct jval id = jobj_get(v.raw, "modelId"), name = jobj_get(v.raw, "name");

		if (v.type != J_OBJECT || id.type != J_STRING)
			continue;
		listed |= slice_eq(id.raw, current);
		put_model_choice(w, id.raw, name.type == J_STRING ? name.raw : SLICE_NONE);
	}
	if (!listed)
		put_model_choice(w, current, SLICE_NONE);
}

static void put_made_option(const struct harness *h, struct jw *w, const char *current)
{
	_cleanup_(buf_done) struct buf text = { 0 };

	jstr_encode(&text, slice_of(current));
	jw_obj(w, NULL);
	jw_str(w, "id", "model");
	jw_str(w, "name", "Model");
	jw_str(w, "category", "model");
	jw_str(w, "type", "select");
	jw_raw(w, "currentValue", buf_slice(&text));
	jw_arr(w, "options");
	put_legacy_choices(h, w, buf_slice(&text));
	jw_end_arr(w);
	jw_end_obj(w);
}

static const char *made_model(const struct harness *h)
{
	if (has_model_option(h))
		return NULL;
	if (h->models)
		return h->chosen;
	/* The agent does not report the model from its environment, so it is shown as the only choice. */
	return h->quirks->model_from_start ? h->model : NULL;
}

bool acp_options_are_ours(const struct harness *h)
{
	return acp_model_prefix(h) || made_model(h);
}

/* Nothing if there is no option at all. */
void acp_options_put(const struct harness *h, struct buf *b)
{
	static const char *const of_option[] = { "currentValue", NULL };
	const char *prefix = acp_model_prefix(h), *made = made_model(h);
	struct jw w = JW(b);

	if (!h->options && !made)
		return;
	jw_arr(&w, NULL);
	jarr_each(v, slice_of(h->options)) {
		if (prefix && is_model(v))
			put_model_option(&w, v, prefix, of_option);
		else
			jw_raw(&w, NULL, v.raw);
	}
	if (made)
		put_made_option(h, &w, made);
	jw_end_arr(&w);
}

void acp_options_rewrite(struct harness *h, struct harness_event *ev, struct buf *scratch)
{
	_cleanup_(buf_done) struct buf options = { 0 };
	struct jw w = JW(scratch);

	acp_options_note(h, ev->update);
	if (!acp_options_are_ours(h))
		return;
	acp_options_put(h, &options);
	jw_obj(&w, NULL);
	jw_members(&w, ev->update, "configOptions");
	jw_raw(&w, "configOptions", buf_slice(&options));
	jw_end_obj(&w);
	ev->update = buf_slice(scratch);
}
