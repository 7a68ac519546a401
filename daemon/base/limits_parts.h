/* limits_parts.h - the limits of parts beside sessions and tools; the end of limits.h, which is what to include. */
#pragma once
/* clang-format off */

/* Minted tokens (access/tokens.h) */
#define TOKENS_MAX 256                  /* that hold at once */
#define TOKEN_LABEL_MAX 128             /* bytes */
#define TOKEN_SESSIONS_MAX 64           /* that one is limited to */
#define TOKEN_LIFE_DAYS_MAX 366
#define TOKEN_CONNECTIONS_MAX 32        /* WebSockets, streams and uploads of one at a time */
#define TOKEN_MCP_SESSIONS_MAX 16       /* of the MCP clients of one; above: its own that is unused for longest goes */
#define TOKEN_BODY_MAX (128 * KIB)      /* a request to mint one */
#define TOKEN_CEILING_MAX (64 * KIB)    /* what one may give its sessions, as JSON */
#define TOKENS_FILE_MAX (32 * MIB)
#define CUT_GRACE_SECS 1                /* for the close frame of a WebSocket whose token has ended */

/* AG-UI (agui/) */
#define AGUI_BODY_MAX (8 * MIB)         /* a RunAgentInput */
#define AGUI_ID_MAX 256                 /* bytes of an id of a thread, a run, a message */
#define AGUI_MESSAGES_MAX 4096          /* of one input, and of the people of one thread */
#define AGUI_TOOLS_MAX 128              /* of a front end */
#define AGUI_RUNS_MAX 256               /* at a time */
#define AGUI_PIECE (64 * KIB)           /* of a session's events, in one turn of the loop */
#define AGUI_SNAPSHOT_MAX (4 * MIB)     /* MESSAGES_SNAPSHOT; of more nothing is sent */
#define AGUI_RESULT_MAX (1 * MIB)       /* text of a tool's result */
#define AGUI_CALLS_MAX 1024             /* open tool calls that a run knows of */
#define AGUI_HELD_MAX 64                /* of them held back: they may be to tools of the front end */
#define AGUI_HELD_ARGS_MAX (64 * KIB)   /* arguments of one that is held back */
#define AGUI_PLANS_MAX 32               /* plans with an id that a snapshot has */
#define AGUI_SUBAGENTS_MAX 256          /* that a run knows of */
#define AGUI_PENDING_MAX 64             /* open calls to the front end, of one thread */
#define AGUI_OVER_MAX 256               /* of calls to the front end that are over, of one thread */
#define AGUI_THREAD_FILE_MAX (4 * MIB)
#define AGUI_PROFILE_MAX (256 * KIB)    /* a file of --profile */

/* Bundles of sessions, and recorded model calls */
#define BUNDLE_MANIFEST_MAX (8 * MIB)   /* bytes of manifest.json */
#define BUNDLE_FILES_MAX 16384          /* members besides it */
#define BUNDLE_PATH_MAX 128             /* bytes of a member's name */
#define BUNDLE_BYTES_MAX (8192 * MIB)   /* of all members, unpacked */
#define BUNDLE_RATIO_MAX 2000           /* bytes unpacked for each packed one: events repeat themselves */
#define BUNDLE_NUMBER_MAX (1LL << 52)    /* of events, of turns and of milliseconds: JSON has no larger ones */
#define BUNDLE_PIECE (256 * KIB)        /* written in one turn of the loop */
#define BUNDLE_ROOMS_MAX 8             /* made or taken at a time */
#define BUNDLE_SESSION_MAX (16 * MIB)   /* bytes of session.json that the command line reads */
#define RECORD_MAX_DEFAULT (64 * MIB)   /* recorded model calls of one session */

/* Checks (session/check/) */
#define CHECKS_MAX 32                   /* of a session or a prompt */
#define CHECKS_BYTES_MAX (256 * KIB)    /* of such a list, as JSON */
#define CHECK_ID_MAX 64                 /* bytes of a check's id */
#define CHECK_TIME_MS 120000            /* a check, unless it says otherwise */
#define CHECK_TIME_MAX 86400000
#define CHECK_PATTERNS_MAX 256          /* of paths, in one list of a check */
#define CHECK_COUNT_MAX 1000000000      /* of a number that a check is held against */
#define CHECK_GRACE_MS 8000             /* beyond its time, for its process to end it and to say so */
#define CHECK_KEEP_BYTES (128 * KIB)    /* newest output of a stream that comes out of the sandbox: twice the longest secret and more */
#define CHECK_LINE_MAX (8 * MIB)        /* the line in which the result comes */
#define CHANGES_MAX 10000               /* changed paths that acpd-unpack lists; more are only counted */
#define CHECK_JOB_MAX (2 * MIB)         /* what a check's process is told */
#define CHECK_TEXT_MAX (4 * KIB)        /* of JSON, of each text or list in a result: 32 results fit a record of the ledger */
#define CHECK_FAILURES_MAX 20           /* failed tests that a result names */
#define CHECK_FAILURE_MAX (1 * KIB)     /* of JSON, of one of them */

/* Metrics and traces */
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

/* Webhooks */
#define WEBHOOKS_MAX 4                  /* receivers */
#define WEBHOOK_FILE_MAX (64 * KIB)     /* the file of --webhook, and the member of a claim */
#define WEBHOOK_URL_MAX 2048
#define WEBHOOK_ID_MAX 64
#define WEBHOOK_SECRETS_MAX 4           /* of one receiver, while they are exchanged */
#define WEBHOOK_SECRET_MIN 24           /* bytes, as Standard Webhooks has it */
#define WEBHOOK_SECRET_MAX 64
#define WEBHOOK_DATA_MAX (16 * KIB)     /* of one event; what is larger is left out of it */
#define WEBHOOK_ASKS_BURST 60           /* questions of one session that are told at once, then one in each: */
#define WEBHOOK_ASKS_EACH_MS 1000
#define WEBHOOK_KEEP_SECS 259200        /* three days: an event that nobody has taken is given up */
#define WEBHOOK_SPOOL_MAX (64 * MIB)    /* on disk, of one receiver */
#define WEBHOOK_SPOOL_MIN (64 * KIB)    /* least that --webhook-keep may say */
#define WEBHOOK_EVENTS_MAX 100000       /* waiting, of one receiver */
#define WEBHOOK_UNWRITTEN_MAX (1 * MIB) /* kept in memory while the disk is full */
#define WEBHOOK_TIDY_BYTES (64 * KIB)   /* a file of a spool that is larger is put away once nothing waits */
#define WEBHOOK_REWRITE_MS 2000         /* until a write that failed is tried again */
#define WEBHOOK_PARALLEL 4              /* requests to one receiver at a time */
#define WEBHOOK_ATTEMPT_MS 15000        /* for one request, its answer included */
#define WEBHOOK_ANSWER_MAX (64 * KIB)   /* of an answer's body that is read, and dropped */
#define WEBHOOK_RETRY_MS 500            /* least wait after a failure */
#define WEBHOOK_RETRY_MAX_MS 300000
#define WEBHOOK_RETRY_AFTER_MAX_MS 3600000 /* the longest Retry-After that is followed */
#define WEBHOOK_TRIES_APART 2           /* failures in a row from which on all events of a receiver wait */
#define WEBHOOK_LINGER_MS 2000          /* at the end of the daemon, for what waits and can be sent */

/* A closed session's uid is given to another one */
#define UID_FILES_MAX                                                                              \
	1000000 /* entries of its trees that are looked through; with more it keeps its uid */
#define REOWN_UIDS_MAX 64 /* that files of one session may have, one after another */

/* A daemon that stops, beyond SHUTDOWN_GRACE_MS of limits.h */
#define STOP_KILL_MS 15000 /* a stop that takes longer has everything killed, */
#define STOP_EXIT_MS 15000 /* and exits so much later, whatever holds it up */
/* clang-format on */
