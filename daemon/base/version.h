/* version.h - which build this is. */
#pragma once

/* The version of this build, as daemon/version.sh prints it: "1.2.3", or "0.1.0-dev+g1a2b3c4d5e6f". */
extern const char acpd_version[];
