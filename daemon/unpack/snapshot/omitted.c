#include "unpack/snapshot/omitted.h"

#include "base/limits.h"
#include "json/jenc.h"

#define LISTED_BYTES (512 * KIB)

void omitted_add(struct omitted *o, const char *path, const char *reason)
{
	struct jw w = { &o->json, o->total > 0 };

	if (o->total++ >= SKIPPED_MAX || buf_len(&o->json) > LISTED_BYTES)
		return;
	jw_obj(&w, NULL);
	jw_str(&w, "path", path);
	jw_str(&w, "reason", reason);
	jw_end_obj(&w);
}

void omitted_put(const struct omitted *o, struct jw *w, const char *key, const char *total)
{
	jw_arr(w, key);
	buf_add_slice(w->b, buf_slice(&o->json));
	jw_end_arr(w);
	jw_uint(w, total, o->total);
}

void omitted_done(struct omitted *o)
{
	buf_done(&o->json);
}
