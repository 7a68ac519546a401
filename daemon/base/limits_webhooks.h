/* limits_webhooks.h - what webhooks may take; part of limits.h. */
#pragma once

/* clang-format off */
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
/* clang-format on */
