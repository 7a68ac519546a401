/* limits_access.h - bounds of tokens that were minted (access/tokens.h); included from limits.h. */
#pragma once

/* clang-format off */
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
/* clang-format on */
