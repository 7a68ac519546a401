/*
 * setup.c - the parameters a session's harness is started with: change, copy, inherit, forget. What goes by the rows of the
 * parameters is in setup_values.c.
 *
 * setup_apply returns which parameters changed, and whether the harness must restart for them.
 * Server lists that are equal for the harness (put_seen) do not restart it. `gateway` is parsed
 * from provider, keys and model and borrows from them: each function that changes one of the three
 * calls setup_parse_gateway. `owned` lists every string member; copying, freeing and wiping use it.
 * Secrets are wiped before they are freed.
 */
#include "session/core/harness/setup.h"

#include "base/limits.h"
#include "base/os/locked.h"
#include "json/jstr.h"

#define CHOICE_MAX 4096	       /* bytes of an option's id or value */
#define CHOICES_MAX (64 * KIB) /* of all that a client chose */

/* True if it changed. */
static bool setup_replace(char **slot, struct slice s)
{
	char *text = s.n ? xstrndup(s.p, s.n) : NULL;
	bool changed = !setup_same(*slot, text);

	free(changed ? *slot : text);
	if (changed)
		*slot = text;
	return changed;
}

/* The list as the harness would see it: which connection serves an "acp" server makes no difference to it. */
static void put_seen(struct buf *b, struct slice servers)
{
	struct jw w = JW(b);

	jarr_each(v, servers) {
		jw_obj(&w, NULL);
		jw_members(&w, v.raw, jstr_is(jobj_get(v.raw, "type"), "acp") ? "serverId" : NULL);
		jw_end_obj(&w);
	}
}

/* True if the harness has to be configured again. */
static bool replace_servers(char **slot, struct slice s)
{
	_cleanup_(buf_done) struct buf before = { 0 }, after = { 0 };

	put_seen(&before, slice_of(*slot));
	put_seen(&after, s);
	/* Stored even if the harness sees no difference: another connection may serve the server. */
	setup_replace(slot, s);
	return !slice_eq(buf_slice(&before), buf_slice(&after));
}

struct slice setup_server_id(const struct setup *s, const char *name)
{
	jarr_each(v, slice_of(s->mcp_servers))
		if (jstr_is(jobj_get(v.raw, "type"), "acp") &&
		    jstr_is(jobj_get(v.raw, "name"), name))
			return jobj_get(v.raw, "serverId").raw;
	return SLICE_NONE;
}

/* A provider that lists its models has no others. */
static bool model_listed(const struct harness_provider *p, const char *model)
{
	jarr_each(v, p->models)
		if (jstr_is(v, model))
			return true;
	return !p->models.n;
}

void setup_parse_gateway(struct setup *s)
{
	harness_provider_done(&s->gateway);
	if (!s->provider)
		return;
	if (provider_load(slice_of(s->provider), &s->gateway) < 0)
		return;
	s->gateway.key = locked_text_str(s->keys.of[0]);
	if (s->model && model_listed(&s->gateway, s->model))
		xstrset(&s->gateway.model, s->model);
	s->needs_provider = false;
}

static unsigned bit(bool changed, enum setup_change which)
{
	return changed ? which | SETUP_CHANGED : 0;
}

enum inner_choice setup_inner(const struct setup *s)
{
	return *(const enum inner_choice *)setup_value(s, &inner_sandbox_parameter);
}

bool harness_nests(const struct harness_def *def, const struct setup *s)
{
	return def->caps.inner_sandbox && setup_inner(s) == INNER_ON;
}

/* The new text, the new keys. True if either changed. What is before borrows from the text that was. */
static bool replace_provider(struct setup *s, struct slice given, char **was)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	struct provider_keys keys = { 0 };
	bool changed;

	provider_split(given, &text, &keys);
	*was = s->provider;
	s->provider = xstrndup(text.data, text.len);
	/* The keys are compared apart from the text: provider_split has taken them out of it. */
	changed = !provider_keys_equal(&keys, &s->keys) || !setup_same(*was, s->provider);
	provider_keys_copy(&s->keys, &keys);
	provider_keys_done(&keys);
	return changed;
}

unsigned setup_change_provider(struct setup *s, struct slice provider, bool follows)
{
	struct harness_provider before = s->gateway;
	_cleanup_(freep) char *was = NULL;
	bool changed, noted, alike;

	if (!provider.n)
		return 0;
	s->gateway = (struct harness_provider){ 0 };
	changed = replace_provider(s, provider, &was);
	noted = s->provider_follows != follows;
	s->provider_follows = follows;
	setup_parse_gateway(s);
	/* While `was` exists: before borrows from it. */
	alike = harness_provider_alike(&before, &s->gateway);
	harness_provider_done(&before);
	return bit(changed && !alike, SETUP_PROVIDER) | (changed || noted ? SETUP_CHANGED : 0);
}

unsigned setup_apply(struct setup *s, const struct setup_params *p)
{
	unsigned changed = bit(replace_servers(&s->mcp_servers, p->mcp_servers), SETUP_SERVERS);

	changed |= bit(setup_replace(&s->additional_dirs, p->additional_dirs), SETUP_DIRS);
	if (p->auth_method && setup_replace(&s->auth_method, slice_of(p->auth_method)))
		changed |= SETUP_CHANGED;
	changed |= setup_apply_given(s, p);
	/* Again, as the model may have changed after the provider. */
	setup_parse_gateway(s);
	return changed;
}

void setup_inherit(struct setup *s, const struct setup *from)
{
	setup_inherit_values(s, from);
	setup_parse_gateway(s);
	/* setup_parse_gateway clears it only where a provider was given. */
	s->needs_provider = from->needs_provider && !s->provider;
}

static void take_choice(char **slot, struct slice value)
{
	char *text = NULL;

	if (jstr_decode((struct jval){ J_STRING, value }, CHOICE_MAX, &text) < 0)
		return;
	free(*slot);
	*slot = text;
}

void setup_choose(struct setup *s, struct slice category, struct slice id, struct slice value)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	_cleanup_(freep) char *key = NULL;
	struct jw w = JW(&b);

	if (slice_is(category, "\"model\"")) {
		take_choice(&s->model, value);
		setup_parse_gateway(s);
		return;
	}
	if (slice_is(category, "\"mode\"")) {
		take_choice(&s->mode, value);
		return;
	}
	if (jstr_decode((struct jval){ J_STRING, id }, CHOICE_MAX, &key) < 0)
		return;
	jw_obj(&w, NULL);
	/* A new choice of an option replaces the old one. The others stay in their order. */
	if (s->chosen)
		jw_members(&w, slice_of(s->chosen), key);
	jw_raw(&w, NULL, id);
	buf_putc(&b, ':');
	jw_raw(&(struct jw){ &b, false }, NULL, value);
	jw_end_obj(&w);
	/* The choice is in force, but a later start does not repeat it. */
	if (b.failed || buf_len(&b) > CHOICES_MAX)
		return;
	free(s->chosen);
	s->chosen = xstrndup(b.data, b.len);
}

void setup_keep_choice(struct setup *s)
{
	xstrset(&s->sure_model, s->model);
	xstrset(&s->sure_mode, s->mode);
}

/* If what was in force cannot be had any more either, nothing of it is wanted. */
void setup_forget_choice(struct setup *s)
{
	bool back = !str_equal(s->model, s->sure_model) || !str_equal(s->mode, s->sure_mode);

	xstrset(&s->model, back ? s->sure_model : NULL);
	xstrset(&s->mode, back ? s->sure_mode : NULL);
	setup_parse_gateway(s);
}

/* Strings that a setup owns. */
#define OWN(member) offsetof(struct setup, member)
#define OWN_LABEL(id, ...) OWN(labels[LABEL_##id]),
static const size_t owned[] = {
	OWN(mcp_servers), OWN(additional_dirs), OWN(env),    OWN(provider),
	OWN(auth_method), OWN(model),		OWN(mode),   OWN(system_prompt),
	OWN(sure_model),  OWN(sure_mode),	OWN(chosen), OWN(secrets),
	OWN(env_keep),	  OWN(env_needed),	OWN(source), SESSION_LABELS(OWN_LABEL)
};

static char **owned_at(struct setup *s, size_t i)
{
	return (char **)((char *)s + owned[i]);
}

void setup_free_text(char *text)
{
	/* explicit_bzero: the compiler must not drop a write before free. */
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

void setup_done(struct setup *s)
{
	harness_provider_done(&s->gateway);
	provider_keys_done(&s->keys);
	setup_free_values(s);
	for (size_t i = 0; i < ARRAY_SIZE(owned); i++)
		setup_free_text(*owned_at(s, i));
	memset(s, 0, sizeof(*s));
}

struct setup *setup_copy(const struct setup *s)
{
	struct setup *copy = new0(struct setup);
	bool needs = s->needs_provider;

	*copy = *s;
	/* It borrows from the original, and is parsed again below. */
	copy->gateway = (struct harness_provider){ 0 };
	copy->keys = (struct provider_keys){ 0 };
	provider_keys_copy(&copy->keys, &s->keys);
	setup_copy_values(copy, s);
	for (size_t i = 0; i < ARRAY_SIZE(owned); i++)
		*owned_at(copy, i) = xstrdup(*owned_at(copy, i));
	setup_parse_gateway(copy);
	copy->needs_provider = needs;
	return copy;
}

void setup_restore(struct setup *s, struct setup *copy)
{
	if (!copy)
		return;
	setup_done(s);
	*s = *copy; /* what the gateway borrows moves along */
	free(copy);
}

struct setup *setup_free(struct setup *copy)
{
	if (copy)
		setup_done(copy);
	free(copy);
	return NULL;
}
