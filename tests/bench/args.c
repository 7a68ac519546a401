/* SPDX-License-Identifier: Apache-2.0 */
#include "args.h"

#include "acp.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void parse_key(char *arg, const struct arg_key *keys, size_t n)
{
	char *eq = strchr(arg, '=');

	for (size_t i = 0; eq && i < n; i++) {
		if (strlen(keys[i].key) != (size_t)(eq - arg) ||
		    strncmp(arg, keys[i].key, (size_t)(eq - arg)) != 0)
			continue;
		if (keys[i].text)
			*keys[i].text = eq + 1;
		else
			*keys[i].number = strtol(eq + 1, NULL, 10);
		return;
	}
	die("unknown: %s", arg);
}

static void read_token(void)
{
	FILE *f = fopen(set.token_file, "re");

	if (!f || fscanf(f, "%255s", set.token) != 1)
		die("cannot read the token");
	fclose(f);
}

void args_read(int argc, char **argv, const struct arg_key *keys, size_t n)
{
	for (int i = 2; i < argc && !set.argv; i++) {
		if (strcmp(argv[i], "--") == 0)
			set.argv = argv + i + 1;
		else
			parse_key(argv[i], keys, n);
	}
	if (set.token_file)
		read_token();
}

void args_work(int argc, char **argv, const struct arg_key *keys, size_t n,
	       const struct arg_work *works, size_t nworks)
{
	const char *work = argc > 1 ? argv[1] : "";

	args_read(argc, argv, keys, n);
	signal(SIGPIPE, SIG_IGN);
	alarm((unsigned)set.seconds);
	for (size_t i = 0; i < nworks; i++) {
		if (strcmp(work, works[i].name) != 0)
			continue;
		works[i].run();
		return;
	}
	die("no such work: %s", work);
}
