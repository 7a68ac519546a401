/* limits_telemetry.h - what metrics and traces may take; part of limits.h. */
#pragma once

/* clang-format off */
#define METRIC_PROCESSES_MAX 64         /* processes that have rows of their own; the others are counted */
#define METRIC_DEVICES_MAX 16           /* network devices that have */
#define METRIC_FILE_BYTES (16 * KIB)    /* read of one file of /proc */
#define TRACESTATE_MAX 512              /* bytes, as W3C has it */
#define BAGGAGE_MAX 8192
#define REQUEST_ID_MAX 128
/* clang-format on */
