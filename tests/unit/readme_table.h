/* readme_table.h - a table of the code that daemon/README.md shows has to be there letter by letter. Tests run in the
 * folder of the project. */
#pragma once

#include "base/buf.h"

/* put: writes the table as Markdown. Fails the test, and prints the table, if the page does not have it. */
void check_readme_has(void (*put)(struct buf *ret));
