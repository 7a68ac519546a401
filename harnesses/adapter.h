/*
 * adapter.h - what adapters do alike: they send messages to their program and updates to the core, put config options into
 * ACP's form, and answer calls of the core.
 *
 * The words for approval are the same in a session's policy, in every adapter's option, and in the journal.
 */
#pragma once

#include "base/buf.h"
#include "harnesses/harness.h"
#include "json/jenc.h"
#include "json/jstr.h"
#include "rpc/rpc.h"

/* A file of this tree as a C string, included by the assembler, so that the file that an adapter puts into its program stays
 * a file for editors and linters. The path is relative to the top of the tree, where make runs; the Makefile knows the
 * dependency. */
#define EMBED(symbol, path)                                                                        \
	__asm__(".pushsection .rodata\n"                                                           \
		".global " #symbol "\n"                                                            \
		".hidden " #symbol "\n" #symbol ":\n"                                              \
		".incbin \"" path "\"\n"                                                           \
		".byte 0\n"                                                                        \
		".popsection\n")

/* --- to the program ------------------------------------------------------------------------------------------ */

/* One line to the child; -E2BIG if it is too large to write, else the host's result. */
int harness_send(const struct harness_host *host, const struct buf *b);
/* fn gets ctx, tag and the answer. <0: it was not sent, and fn is not called. */
int harness_call(const struct harness_host *host, struct rpc_calls *calls, const char *method,
		 struct slice params, rpc_reply_fn fn, void *ctx, uint64_t tag);
/* For calls whose answer changes nothing. */
void harness_reply_ignored(void *ctx, uint64_t tag, const struct rpc_msg *m);

#define HARNESS_MESSAGE 2
/* What to do with a line that was parsed: HARNESS_MESSAGE if m is a message, else what on_line returns for it. A request that
 * is malformed is answered with e. */
int harness_line_parsed(const struct harness_host *host, enum rpc_parse_result parsed,
			const struct rpc_msg *m, const struct err *e);

/* Appends the text of a string, NUL too. What cannot be decoded fails b, so that a prompt is refused, not shortened. */
void harness_add_text(struct buf *b, struct jval v);
/* Refuses the block of a prompt, counted from 0, that the protocol cannot hold. Returns -EINVAL. */
int harness_refuse_block(size_t i, struct err *e);
/* r of sending a call of the core: <0 with e, which names the program, else 0. */
int harness_gone(int r, const char *program, struct err *e);

/* --- to the core --------------------------------------------------------------------------------------------- */

/* Sends an update that was built in b, as it stands; nothing if it did not fit. */
void harness_send_update(const struct harness_host *host, enum harness_update kind,
			 const struct buf *b);
/* The same, from its members without sessionUpdate. */
#define harness_emit(host, kind, ...) harness_emit_of(host, kind, JW_MEMBERS(__VA_ARGS__))
void harness_emit_of(const struct harness_host *host, enum harness_update kind,
		     const struct jw_member *members);
/* Opens an update; the caller adds its members and closes the object. */
void harness_update_open(struct jw *w, enum harness_update kind);
/* Content of a tool call: a text, raw. */
void harness_put_text_part(struct jw *w, struct slice text);

/* The counts of a usage object, by the names that a program has for them. */
struct usage_field {
	const char *key;
	enum harness_count what;
};
void harness_usage_read(struct harness_usage *u, struct slice object, const struct usage_field *f,
			size_t n);

/* Answers set_config or set_mode with what the program said against it. rpc: the code. */
void harness_refused(const struct harness_host *host, uint64_t token, int rpc, const char *text);
/* Answers steer, once the program has. */
void harness_steered(const struct harness_host *host, uint64_t token, const struct rpc_msg *m);

/* --- config options ------------------------------------------------------------------------------------------- */

extern const char *const harness_approvals[APPROVAL_MAX];
/* enum harness_approval, or -1. */
int harness_approval_find(const char *word);

/* A SessionConfigOption of type select. */
void option_begin(struct jw *w, const char *id, const char *name, const char *category,
		  const char *current);
/* name NULL: the value; description NULL: none. */
void option_value(struct jw *w, const char *value, const char *name, const char *description);
void option_end(struct jw *w);
