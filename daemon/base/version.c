#include "base/version.h"

/* Programs have the version of their commit. Tests link an object without one, so a commit does not link them again. */
#ifndef ACPD_VERSION
#define ACPD_VERSION "0.0.0-test"
#endif

const char acpd_version[] = ACPD_VERSION;
