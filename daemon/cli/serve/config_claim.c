/*
 * config_claim.c - applies the settings of a claim to a copy of the configuration, through the
 * table of options.
 *
 * The caller drops the copy after an error, so a claim takes effect completely or not at all.
 * config_done frees both configurations, so every text is duplicated before the first change. A
 * setting that confines sessions can only become stricter: the order of the words in the option's
 * row defines which is stricter (CLAIM_LATER_WORD, CLAIM_EARLIER_WORD).
 */
#include "cli/serve/config_claim.h"

#include "cli/options/option_row.h"
#include "json/jscan.h"
#include "json/jstr.h"
#include "net/claim.h"

#include <errno.h>
#include <stdio.h>

void config_copy(struct config *to, const struct config *from)
{
	*to = *from;
	for (size_t i = 0; i < option_rows_n; i++) {
		char **copy = option_slot(to, &option_rows[i]);
		char *const *text = option_slot(from, &option_rows[i]);

		/* two rows may share a member */
		if (option_is_text(&option_rows[i]) && *copy == *text)
			*copy = xstrdup(*text);
	}
}

static const struct option_row *find_row(const char *name)
{
	for (size_t i = 0; i < option_rows_n; i++)
		if ((option_rows[i].scope & SCOPE_SERVE) && strcmp(option_rows[i].name, name) == 0)
			return &option_rows[i];
	return NULL;
}

/* Where the word stands among the words of the option. */
static int place_of(const struct option_row *r, const char *word)
{
	size_t n = strlen(word);
	int place = 0;

	for (const char *p = r->words; *p; p += strcspn(p, " "), p += strspn(p, " "), place++)
		if (strcspn(p, " ") == n && strncmp(p, word, n) == 0)
			break;
	return place;
}

static bool is_weaker(const struct option_row *r, const char *old, const char *word)
{
	int by = place_of(r, word) - place_of(r, old);

	return (r->claim == CLAIM_LATER_WORD && by < 0) ||
	       (r->claim == CLAIM_EARLIER_WORD && by > 0);
}

static int take(struct config *c, const char *name, const char *value, bool *seen, struct err *e)
{
	const struct option_row *r = find_row(name);
	char field[64];

	snprintf(field, sizeof(field), "settings.%s", name);
	if (!r)
		return err_field(e, field, "SETTING_UNKNOWN", "%s: there is no such setting", name);
	if (r->claim == CLAIM_NEVER)
		return err_field(e, field, "SETTING_NOT_CLAIMABLE",
				 "%s can only be set where the daemon is started", name);
	if (seen[r - option_rows])
		return err_field(e, field, "OPTION_INVALID", "%s is given twice", name);
	seen[r - option_rows] = true;
	if (r->claim != CLAIM_ANY) {
		_cleanup_(freep) char *old = xstrdup(*(char **)option_slot(c, r));

		if (option_set(c, r, value, e) == 0 && is_weaker(r, old, value))
			return err_field(
				e, field, "SETTING_WEAKER",
				"%s: the daemon was started with %s, and a claim can only be stricter",
				name, old);
	} else {
		(void)option_set(c, r, value, e);
	}
	if (!e->reason[0])
		return 0;
	snprintf(e->field, sizeof(e->field), "%s", field);
	return -EINVAL;
}

/* As argv would have it. */
static int text_of(struct jval v, char **ret)
{
	if (v.type == J_STRING)
		return jstr_decode(v, SETTING_VALUE_MAX, ret);
	if (v.type != J_NUMBER && v.type != J_TRUE && v.type != J_FALSE)
		return -EINVAL;
	*ret = xstrndup(v.raw.p, v.raw.n);
	return 0;
}

static int take_member(struct config *c, struct slice key, struct jval v, bool *seen, struct err *e)
{
	_cleanup_(freep) char *name = xstrndup(key.p, MIN(key.n, SETTING_NAME_MAX)), *value = NULL;
	char field[64];

	if (text_of(v, &value) == 0)
		return take(c, name, value, seen, e);
	snprintf(field, sizeof(field), "settings.%s", name);
	return err_field(e, field, "OPTION_INVALID",
			 "%s must be a string of at most %d bytes, a number or a boolean", name,
			 SETTING_VALUE_MAX);
}

int config_claim(struct config *c, struct slice settings, struct err *e)
{
	bool seen[OPTION_ROWS_MAX] = { false };
	struct jiter it;
	struct slice key;
	struct jval v;
	int r = 0;

	*e = (struct err){ 0 };
	if (!jiter_init(&it, (struct jval){ J_OBJECT, settings }))
		return 0;
	while (r == 0 && jiter_next(&it, &key, &v))
		r = take_member(c, key, v, seen, e);
	return r;
}
