/* limits_telemetry.h - what metrics and traces may take; part of limits.h. */
#pragma once

/* clang-format off */
#define METRIC_PROCESSES_MAX 64         /* processes that have rows of their own; the others are counted */
#define METRIC_DEVICES_MAX 16           /* network devices that have */
#define METRIC_FILE_BYTES (16 * KIB)    /* read of one file of /proc */
#define TRACESTATE_MAX 512              /* bytes, as W3C has it */
#define BAGGAGE_MAX 8192
#define REQUEST_ID_MAX 128
#define OTLP_DEPTH 12                   /* messages within messages */
#define OTLP_URL_MAX 2048
#define OTLP_HEADERS_MAX (16 * KIB)     /* of OTEL_EXPORTER_OTLP_HEADERS, and of resource attributes */
#define OTLP_TEXT_MAX 4096              /* bytes of one attribute; what is longer is cut */
#define OTLP_RECORD_MAX (64 * KIB)      /* of one span or line; what is larger is dropped */
#define OTLP_QUEUE_BYTES (8 * MIB)      /* of all that waits, of one signal; beyond that new ones are dropped */
#define OTLP_QUEUE_MAX 65536            /* most that OTEL_BSP_MAX_QUEUE_SIZE may say */
#define OTLP_BATCH_BYTES (1 * MIB)      /* of one request, about */
#define OTLP_DELAY_MAX_MS 3600000       /* most that a delay or an interval may say */
#define OTLP_ANSWER_MAX (64 * KIB)      /* of an answer's body; more is a failure */
#define MEASURES_MAX 128                /* sets of labels that are told apart in one histogram */
#define OTLP_LINES_BURST 1000           /* lines of the log that are told at once, then one in each: */
#define OTLP_LINES_EACH_MS 10
#define OTLP_RETRY_MS 1000              /* least wait after a failure */
#define OTLP_RETRY_MAX_MS 60000
#define OTLP_RETRY_AFTER_MAX_MS 600000  /* the longest Retry-After that is followed */
#define OUTSIDE_CALLS_BURST 1000        /* events, and lines of the log, of tool calls over /mcp at once, in a session */
#define OUTSIDE_CALLS_EACH_MS 1000      /* and afterwards one in so long; what is left out is counted */
#define OUTSIDE_REASON_MAX 64           /* bytes of why such a call failed; longer ones are left out */
/* clang-format on */
