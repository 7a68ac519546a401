/*
 * egress_rules.h - where a session may go: the object network {mode, allow, ask} of its parameters. Pure.
 *
 *	mode		what may be called
 *	off		nothing
 *	allowlist	hosts of allow, [{host, ports?}]
 *	on		all that is public, on any port
 *
 * host is a name, an address, or "*.suffix": every name below the suffix, but not the suffix. Without ports it is 443
 * and 80. An address is reached only by an entry that writes it, or with mode on. Whether an address that a name stands
 * for may be called is another matter (base/net/address_rules.h), which no rule here can open.
 *
 * Rules do not change: others are made from them. Whoever gets one frees it.
 */
#pragma once

#include "base/err.h"
#include "base/limits.h"
#include "base/slice.h"

struct jw;

/* The larger, the more may be called. */
enum egress_mode { EGRESS_OFF, EGRESS_ALLOWLIST, EGRESS_ON, EGRESS_MODE_MAX };
extern const char *const egress_modes[EGRESS_MODE_MAX];

struct egress_rules;

/* json: the object. field: where it stands, as "_meta.acpd.network"; errors name the member. 0 or -EINVAL. */
int egress_rules_parse(struct slice json, const char *field, struct egress_rules **ret,
		       struct err *e);
struct egress_rules *egress_rules_copy(const struct egress_rules *r);
struct egress_rules *egress_rules_free(struct egress_rules *r);
/* A member of w, as egress_rules_parse takes it. */
void egress_rules_put(const struct egress_rules *r, struct jw *w, const char *key);
/* The same, into an object that is open. */
void egress_rules_put_members(const struct egress_rules *r, struct jw *w);

enum egress_mode egress_rules_mode(const struct egress_rules *r);
/* A host that no entry names is to be asked for. */
bool egress_rules_ask(const struct egress_rules *r);
/* They say the same, in the same order. */
bool egress_rules_same(const struct egress_rules *a, const struct egress_rules *b);
/* Everything that a lets pass, b does too. */
bool egress_rules_within(const struct egress_rules *a, const struct egress_rules *b);
/* The same with one more host, on the usual ports and this one. NULL with e: it is no host, or they are too many. */
struct egress_rules *egress_rules_with(const struct egress_rules *r, const char *host, int port,
				       struct err *e);

enum egress_answer { EGRESS_HOST_UNKNOWN, EGRESS_PORT_UNKNOWN, EGRESS_ALLOWED };

/* host: as egress_host_parse has it. plain (may be NULL): what is not TLS may pass a tunnel to it, because an entry
 * writes that port, which is not 443. */
enum egress_answer egress_rules_match(const struct egress_rules *r, const char *host, int port,
				      bool *plain);
