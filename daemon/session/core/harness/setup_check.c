/* setup_check.c - asks all parts whether a session can have the requested parameters. */
#include "session/core/harness/setup_check.h"

#include "session/core/session_part.h"

int setup_check(const struct session_store *st, const struct harness_def *def,
		const struct setup *have, const struct setup_params *p, struct err *e)
{
	const struct setup_request r = { st, def, have, p };

	return PARTS_FIRST(check_setup, &r, e);
}
