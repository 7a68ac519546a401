/* fetch_probe.h - confines itself as acpd-fetch does, tries what must not work, and prints what became of it. */
#pragma once

#include "fetch/confine_fetch.h"

/* One JSON object: each attempt with the name of its errno, or "done". The exit code. */
int fetch_probe(const struct confine_fetch *who);
