/* bridge.c - bridge.mjs as a C string, put in by the assembler; the path is relative to the top of the tree, where make runs. */
#include "harnesses/pi/internal.h"

__asm__(".pushsection .rodata\n"
	".global pi_bridge\n"
	".hidden pi_bridge\n"
	"pi_bridge:\n"
	".incbin \"harnesses/pi/bridge.mjs\"\n"
	".byte 0\n"
	".popsection\n");
