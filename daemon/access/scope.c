/*
 * scope.c - the words of scopes, and a table of which scopes meet a need.
 *
 * NEED_UNSAID, the need of a method or route whose row says nothing, is met by no scope: it is refused to everybody.
 */
#include "access/scope.h"

#include "base/util.h"

static const char *const words[GRANT_MAX] = {
	[GRANT_ADMIN] = "admin", [GRANT_DRIVE] = "drive", [GRANT_OBSERVE] = "observe",
	[GRANT_USAGE] = "usage", [GRANT_MODEL] = "model", [GRANT_TOOLS] = "tools",
};

#define BIT(scope) (1u << (scope))
#define ALL (BIT(GRANT_MAX) - 1)

/* Which scopes meet a need, and which of them is named to who lacks it. */
static const struct {
	unsigned met;
	int least; /* -1: none is named */
} needs[NEED_MAX] = {
	[NEED_UNSAID] = { 0, -1 },
	[NEED_OPEN] = { ALL, -1 },
	[NEED_ANY] = { ALL, -1 },
	[NEED_ACP] = { ALL & ~(BIT(GRANT_USAGE) | BIT(GRANT_TOOLS)), GRANT_OBSERVE },
	[NEED_ADMIN] = { BIT(GRANT_ADMIN), GRANT_ADMIN },
	[NEED_DRIVE] = { BIT(GRANT_ADMIN) | BIT(GRANT_DRIVE), GRANT_DRIVE },
	[NEED_OBSERVE] = { BIT(GRANT_ADMIN) | BIT(GRANT_DRIVE) | BIT(GRANT_OBSERVE),
			   GRANT_OBSERVE },
	[NEED_USAGE] = { BIT(GRANT_ADMIN) | BIT(GRANT_DRIVE) | BIT(GRANT_OBSERVE) |
				 BIT(GRANT_USAGE),
			 GRANT_USAGE },
	[NEED_MODEL] = { BIT(GRANT_ADMIN) | BIT(GRANT_DRIVE) | BIT(GRANT_MODEL), GRANT_MODEL },
	[NEED_TOOLS] = { BIT(GRANT_ADMIN) | BIT(GRANT_DRIVE) | BIT(GRANT_TOOLS), GRANT_TOOLS },
};

bool need_met(enum grant_need n, enum grant_scope s)
{
	return needs[n].met & BIT(s);
}

const char *grant_scope_word(enum grant_scope s)
{
	return words[s];
}

int grant_scope_find(const char *word)
{
	for (int i = 0; i < GRANT_MAX; i++)
		if (strcmp(words[i], word) == 0)
			return i;
	return -1;
}

const char *need_word(enum grant_need n)
{
	return needs[n].least < 0 ? NULL : words[needs[n].least];
}
