/*
 * embed.h - a file of this tree as a C string, included by the assembler, so that the file that an adapter puts into
 * its program stays a file for editors and linters. The path is relative to the top of the tree, where make runs; the
 * Makefile knows the dependency.
 */
#pragma once

#define EMBED(symbol, path)                                                                        \
	__asm__(".pushsection .rodata\n"                                                           \
		".global " #symbol "\n"                                                            \
		".hidden " #symbol "\n" #symbol ":\n"                                              \
		".incbin \"" path "\"\n"                                                           \
		".byte 0\n"                                                                        \
		".popsection\n")
