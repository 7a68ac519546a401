/*
 * serve_settings.h - what the options of `acpd serve` mean to the parts of the daemon, when they are made and when a claim
 * brings other ones. A claim comes before the first connection and the first session, so nobody has seen the old ones.
 */
#pragma once

#include "acp/acp_server.h"
#include "cli/serve/hosting.h"
#include "http/endpoints.h"
#include "lifecycle/lifecycle.h"
#include "net/admission.h"

/* The image's own directory, unless an option names another. */
const char *serve_baked(const char *given, const char *usual);
/* Its texts are borrowed; without the parts that it points to. */
struct store_config serve_store_config(const struct config *c);
struct admission_config serve_admission_config(const struct config *c);
struct life_times serve_life_times(const struct config *c);
struct acp_config serve_acp_config(const struct config *c, const struct harness_table *harnesses);

struct serve_parts {
	const struct harness_table *harnesses;
	struct session_store *store;
	struct archive_store *archives;
	struct fetcher *fetcher;
	struct egress *egress;
	struct acp_server *acp;
	struct admission *admission;
	struct http_context *http;
	struct hosting *mcp;
	struct lifecycle *life;
	struct outbox *outbox;
};

/* What the type of an option does not show. -EINVAL with e naming "settings.NAME". */
int serve_check_claim(const struct config *c, const struct harness_table *harnesses, struct err *e);
/* Hands each claimable option to the part that it is for. Cannot fail. */
void serve_set(const struct config *c, const struct serve_parts *p);
