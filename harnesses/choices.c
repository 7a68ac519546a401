#include "harnesses/choices.h"

const char *const harness_approvals[APPROVAL_MAX] = {
	[APPROVAL_ASK] = "ask",
	[APPROVAL_ACCEPT_EDITS] = "accept-edits",
	[APPROVAL_NEVER] = "never",
};

int harness_approval_find(const char *word)
{
	for (int i = 0; i < APPROVAL_MAX; i++)
		if (strcmp(harness_approvals[i], word) == 0)
			return i;
	return -1;
}

void option_begin(struct jw *w, const char *id, const char *name, const char *category,
		  const char *current)
{
	jw_obj(w, NULL);
	jw_str(w, "id", id);
	jw_str(w, "name", name);
	jw_str(w, "category", category);
	jw_str(w, "type", "select");
	jw_str(w, "currentValue", current);
	jw_arr(w, "options");
}

void option_value(struct jw *w, const char *value, const char *name, const char *description)
{
	jw_object(w, NULL, JW_STR("value", value), JW_STR("name", name ? name : value),
		  JW_STR("description", description));
}

void option_end(struct jw *w)
{
	jw_end_arr(w);
	jw_end_obj(w);
}
