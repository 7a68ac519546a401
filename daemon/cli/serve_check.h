/* serve_check.h - what of the options of `acpd serve` can be checked before anything is made. */
#pragma once

#include "cli/cli_options.h"

/* -EINVAL and more, with e naming the option. Nothing stays of what is tried. */
int serve_check(const struct config *c, struct err *e);
/* "host:port" or "[v6]:port" into host (caller frees) and port. */
int serve_listen(const char *listen, char **host, int *port, struct err *e);
