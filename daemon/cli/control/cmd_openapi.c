/* cmd_openapi.c - `acpd openapi`: the description of the API, as GET /openapi.json serves it. */
#include "cli/cmd.h"

#include "http/openapi.h"

#include <stdio.h>

int cmd_openapi(const struct config *c _unused_)
{
	if (fputs(openapi_text, stdout) < 0 || fflush(stdout) != 0)
		return fail(EXIT_FAILED, "the description could not be written");
	return EXIT_DONE;
}
