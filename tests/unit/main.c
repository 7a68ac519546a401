/*
 * main.c - all the unit tests in one program: "unit NAME" runs what the file NAME.c has, "unit" alone lists the names.
 * list.h is made by unit.mk.
 */
#include <stdio.h>
#include <string.h>

#define ROW(name) int name(void);
#include "list.h"
#undef ROW

static const struct {
	const char *name;
	int (*run)(void);
} rows[] = {
#define ROW(name) { #name, name },
#include "list.h"
#undef ROW
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (argc < 2)
			puts(rows[i].name);
		else if (strcmp(argv[1], rows[i].name) == 0)
			return rows[i].run();
	}
	if (argc < 2)
		return 0;
	fprintf(stderr, "%s: no test file of this name; without argument the names are listed\n",
		argv[1]);
	return 2;
}
