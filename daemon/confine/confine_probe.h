/* confine_probe.h - a program of ours that has confined itself tries what must not work, and says what became of it. */
#pragma once

/* Prints one JSON object: each attempt with the name of its errno, or "done". The exit code. */
int confine_probe(void);
