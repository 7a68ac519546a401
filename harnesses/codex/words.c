/* words.c - `/bin/bash -lc 'echo hi'` is how Codex runs `echo hi`; people are shown the latter. */
#include "harnesses/codex/internal.h"

static const char *const wrappers[] = { "/bin/bash -lc ",   "/usr/bin/bash -lc ", "bash -lc ",
					"/bin/sh -c ",	    "/usr/bin/zsh -lc ",  "/bin/zsh -lc ",
					"/bin/bash -c ",    "/usr/bin/bash -c ",  "bash -c ",
					"/usr/bin/zsh -c ", "/bin/zsh -c " };

/* One word as a shell reads it; NULL if there is more than one. */
static char *unquote(const char *p)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	char quote = '\0';

	for (; *p; p++) {
		if (quote == '\'' ? *p == '\'' : *p == '"' && quote == '"') {
			quote = '\0';
		} else if (!quote && (*p == '\'' || *p == '"')) {
			quote = *p;
		} else if (*p == '\\' && quote != '\'' && p[1] &&
			   (!quote || strchr("\\\"$`", p[1]))) {
			buf_putc(&b, *++p);
		} else if (!quote && *p == ' ') {
			return NULL;
		} else {
			buf_putc(&b, *p);
		}
	}
	return quote || b.failed ? NULL : xstrndup(b.data ? b.data : "", b.len);
}

char *codex_command_text(const char *command)
{
	char *text = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(wrappers) && !text; i++)
		if (slice_starts(slice_of(command), wrappers[i]))
			text = unquote(command + strlen(wrappers[i]));
	return text && *text ? text : (free(text), xstrdup(command));
}
