/* limits_bundles.h - bounds of bundles of sessions, and of recorded model calls; included by limits.h. */
#pragma once

/* clang-format off */
#define BUNDLE_MANIFEST_MAX (8 * MIB)   /* bytes of manifest.json */
#define BUNDLE_FILES_MAX 16384          /* members besides it */
#define BUNDLE_PATH_MAX 128             /* bytes of a member's name */
#define BUNDLE_BYTES_MAX (8192 * MIB)   /* of all members, unpacked */
#define BUNDLE_RATIO_MAX 2000           /* bytes unpacked for each packed one: events repeat themselves */
#define BUNDLE_NUMBER_MAX (1LL << 52)    /* of events, of turns and of milliseconds: JSON has no larger ones */
#define BUNDLE_PIECE (256 * KIB)        /* written in one turn of the loop */
#define BUNDLE_ROOMS_MAX 8             /* made or taken at a time */
#define BUNDLE_SESSION_MAX (16 * MIB)   /* bytes of session.json that the command line reads */
#define RERUN_CALLS_MAX 16384           /* of one recording */
#define RERUN_BYTES_MAX (1024 * MIB)    /* and of its file */
#define RERUN_PIECE (48 * KIB)          /* of a recorded answer, in one message */
#define RERUN_PATIENCE_MS 3000          /* until a turn that was cancelled is again, whatever it has said */
#define RECORD_MAX_DEFAULT (64 * MIB)   /* recorded model calls of one session */
/* clang-format on */
