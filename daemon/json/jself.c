#include "json/jself.h"

#include "base/util.h"
#include "base/version.h"

void jw_self(struct jw *w, const char *key, const char *name, const char *title)
{
	jw_obj(w, key);
	jw_str(w, "name", name);
	jw_str(w, "title", title);
	jw_str(w, "version", acpd_version);
	jw_end_obj(w);
}

void jw_user_agent(struct jw *w)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	buf_printf(&b, "acpd/%s", acpd_version);
	jw_slice(w, "user-agent", buf_slice(&b));
}
