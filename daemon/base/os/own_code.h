/* own_code.h - the code of this process in memory. */
#pragma once

/* Gives back the pages of code that are in memory, of the program and its libraries: what only a start needs stays out,
 * all else is mapped again from the page cache when it runs. Such pages are never written, so nothing is lost. */
void own_code_drop(void);
