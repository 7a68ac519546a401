/* jself.h - how acpd names itself to its peers. */
#pragma once

#include "json/jenc.h"

/* Writes the member key as what ACP and MCP call an implementation: name, title (NULL: left out) and the version of this build. */
void jw_self(struct jw *w, const char *key, const char *name, const char *title);
/* Writes a member for an object of HTTP headers: "user-agent": "acpd/VERSION". */
void jw_user_agent(struct jw *w);
