/*
 * session_labels.h - the labels of a session: names that a client gives it for its own records, such as the account to bill.
 *
 * The daemon never interprets a label. It stores the labels in the journal, a fork inherits them, and it repeats them in
 * events, webhooks, usage records, spans and exports. A label is one row here (setup_rows.c makes a parameter of it).
 */
#pragma once

#include "json/jenc.h"

/* X(id, member of _meta.acpd and of records, attribute of spans, member of an exported event whose data has that name, the
 * sentence of the docs). */
#define SESSION_LABELS(X)                                                                          \
	X(BILLING_REF, "billingRef", "acpd.billing.ref", "updateBillingRef",                       \
	  "a word that goes into usage records")                                                   \
	X(CONFIG_VERSION, "configVersion", "acpd.config.version", "updateConfigVersion",           \
	  "another one")

#define SESSION_LABEL_ID(id, ...) LABEL_##id,
enum session_label { SESSION_LABELS(SESSION_LABEL_ID) LABEL_MAX };

extern const char *const session_label_names[LABEL_MAX], *const session_label_attributes[LABEL_MAX];

/* Writes the labels that have a value as members. */
static inline void session_labels_put(struct jw *w, char *const labels[LABEL_MAX])
{
	for (size_t i = 0; i < LABEL_MAX; i++)
		jw_str(w, session_label_names[i], labels[i]);
}
