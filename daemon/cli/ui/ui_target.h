/*
 * ui_target.h - where `acpd ui` passes requests to, and what it adds to them: --url, --token-file and --header, read once.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

struct ui_target {
	char *host; /* without brackets */
	int port;
	bool tls;
	char *authority;   /* for the field Host */
	char *base;	   /* path before all others, without a slash at its end; "" or "/…" */
	struct buf fields; /* lines that go with each request, each with CRLF; a secret */
};

/* ws://, wss://, http:// or https://; the path may end in /acp or /ui. token may be empty; headers: "Name: value", a line
 * each, or NULL. -EINVAL with e naming the option. */
int ui_target_read(struct ui_target *t, const char *url, struct slice token, const char *headers,
		   struct err *e);
void ui_target_done(struct ui_target *t);
