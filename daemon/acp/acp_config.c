/* acp_config.c - config options as a given client may see them. */
#include "acp/acp_internal.h"

#include "json/jstr.h"

static bool is_boolean(struct jval option)
{
	return option.type == J_OBJECT && jstr_is(jobj_get(option.raw, "type"), "boolean");
}

void config_put(struct jw *w, struct slice options, unsigned client)
{
	struct jval v = { J_ARRAY, options };
	struct jiter it;

	jw_arr(w, "configOptions");
	jiter_init(&it, v);
	while (jiter_next(&it, NULL, &v))
		if ((client & CLIENT_BOOLEAN) || !is_boolean(v))
			jw_raw(w, NULL, v.raw);
	jw_end_arr(w);
}

void config_filter_frame(struct buf *b, struct slice frame)
{
	struct slice params = jobj_get(frame, "params").raw;
	struct slice update = jobj_get(params, "update").raw;
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_members(&w, frame, "params");
	jw_obj(&w, "params");
	jw_members(&w, params, "update");
	jw_obj(&w, "update");
	jw_members(&w, update, "configOptions");
	config_put(&w, jobj_get(update, "configOptions").raw, 0);
	jw_end_obj(&w);
	jw_end_obj(&w);
	jw_end_obj(&w);
}
