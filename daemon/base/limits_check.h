/*
 * limits_check.h - the part of limits.h that is about checks (session/check/). Include limits.h.
 */
#pragma once

/* clang-format off */
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
#define CHECK_MESSAGE_MAX (128 * KIB)   /* newest bytes of the agent's last message */
#define CHECK_TEXT_MAX (4 * KIB)        /* of JSON, of each text or list in a result: 32 results fit a record of the ledger */
#define CHECK_FAILURES_MAX 20           /* failed tests that a result names */
#define CHECK_FAILURE_MAX (1 * KIB)     /* of JSON, of one of them */
/* clang-format on */
