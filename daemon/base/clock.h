/*
 * clock.h - time. Deadlines and durations are CLOCK_MONOTONIC milliseconds; wall time appears only in records
 * and logs, as ISO 8601 UTC with milliseconds.
 */
#pragma once

#include <stdint.h>

#define CLOCK_ISO_SIZE 32

uint64_t clock_mono_ms(void);
uint64_t clock_real_ms(void);
/* Writes "2026-11-21T08:00:00.123Z"; returns out. */
char *clock_iso(uint64_t real_ms, char out[CLOCK_ISO_SIZE]);
