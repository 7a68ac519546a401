/*
 * ui_pass.h - the heads of what `acpd ui` passes on: a browser's request as the daemon gets it, and the daemon's answer as
 * the browser gets it. Pure.
 *
 * Of both only fields with known names pass. So no cookie, no Origin and no address of the page goes to the daemon, and
 * an answer neither sets anything in the browser nor lets another page read it. Each request has a connection of its own,
 * which ends with the answer.
 */
#pragma once

#include "base/http/http_head.h"
#include "base/http/http_request.h"
#include "cli/ui/ui_target.h"

/* It asks for a WebSocket. */
bool ui_pass_is_upgrade(const struct http_request_head *h);
/* path: what is asked for, behind the target's own. Appends the head with its empty line. */
void ui_pass_request(const struct http_request_head *h, struct slice path,
		     const struct ui_target *t, struct buf *ret);
/* tunnel: it is 101. The same. */
void ui_pass_answer(const struct http_head *h, bool tunnel, struct buf *ret);
