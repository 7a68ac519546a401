/*
 * egress_rules.c - parses, prints, compares and applies the network rules of a session.
 *
 * The entry "*.suffix" is stored as ".suffix": one comparison of ends matches the names below it,
 * and the suffix itself does not match. The most permissive matching entry decides.
 * egress_rules_within keeps a session below its ceiling; it returns false wherever it cannot prove
 * that every permission is contained.
 */
#include "egress/wire/egress_rules.h"

#include "base/util.h"
#include "base/net/address_rules.h"
#include "egress/wire/egress_host.h"
#include "json/json.h"

#define PORT_MAX 65535
#define PREFIX_SIZE 96 /* as a field in struct err */
#define FIELD_SIZE 128

const char *const egress_modes[EGRESS_MODE_MAX] = {
	[EGRESS_OFF] = "off",
	[EGRESS_ALLOWLIST] = "allowlist",
	[EGRESS_ON] = "on",
};

struct egress_entry {
	char *host; /* of "*.suffix" ".suffix" */
	uint16_t *ports;
	unsigned nports; /* 0: the usual ones */
};

struct egress_rules {
	enum egress_mode mode;
	bool ask;
	struct egress_entry *entries;
	unsigned n;
	size_t bytes; /* of all hosts */
};

/* --- reading -------------------------------------------------------------------------------------------------- */

static const char *egress_rules_take_host(struct slice text, struct egress_entry *x)
{
	struct egress_host h;
	bool below = slice_skip(&text, "*.");
	const char *bad = egress_host_parse(text, &h);

	if (bad)
		return bad;
	if (below && h.address)
		return "no address has others below it";
	x->host = xalloc(h.n + 2);
	snprintf(x->host, h.n + 2, "%s%s", below ? "." : "", h.text);
	return NULL;
}

static int read_host(struct egress_entry *x, const char *text, const char prefix[PREFIX_SIZE],
		     struct err *e)
{
	const char *bad = egress_rules_take_host(slice_of(text), x);
	char field[FIELD_SIZE];

	if (!bad)
		return 0;
	snprintf(field, sizeof(field), "%.95shost", prefix);
	return err_field(e, field, "FIELD_INVALID", "%s: %s", field, bad);
}

static int read_ports(struct egress_entry *x, struct slice array, const char prefix[PREFIX_SIZE],
		      struct err *e)
{
	char field[FIELD_SIZE];
	int64_t port;

	jarr_each(v, array) {
		snprintf(field, sizeof(field), "%.95sports[%u]", prefix, x->nports);
		if (x->nports == EGRESS_PORTS_MAX)
			return err_field(e, field, "FIELD_TOO_LONG", "%s: more than %d ports",
					 field, EGRESS_PORTS_MAX);
		if (jdec_int(v, &port) < 0 || port < 1 || port > PORT_MAX)
			return err_field(e, field, "FIELD_INVALID", "%s must be from 1 to %d",
					 field, PORT_MAX);
		*GROW(x->ports, x->nports) = (uint16_t)port;
	}
	if (!array.n || x->nports)
		return 0;
	snprintf(field, sizeof(field), "%.95sports", prefix);
	return err_field(e, field, "FIELD_INVALID", "%s must not be empty", field);
}

struct entry_args {
	char *host;
	struct slice ports;
};

static const struct jfield entry_fields[] = {
	JF_STR(struct entry_args, host, "host", JF_REQUIRED | JF_FILLED, EGRESS_HOST_SIZE),
	JF_ARR(struct entry_args, ports, "ports", 0),
	JF_END,
};

static int egress_rules_check_room(struct egress_rules *r, const struct egress_entry *x,
				   const char *field, struct err *e)
{
	r->bytes += strlen(x->host);
	if (r->n <= EGRESS_ENTRIES_MAX && r->bytes <= EGRESS_HOSTS_BYTES)
		return 0;
	return err_field(e, field, "FIELD_TOO_LONG",
			 "%s: more than %d entries, or %lu bytes of hosts", field,
			 EGRESS_ENTRIES_MAX, EGRESS_HOSTS_BYTES);
}

static int egress_rules_read_entry(struct egress_rules *r, struct jval v, const char *field,
				   struct err *e)
{
	struct entry_args a = { 0 };
	char path[PREFIX_SIZE], prefix[PREFIX_SIZE];
	struct egress_entry *x;
	int ret;

	snprintf(path, sizeof(path), "%s.allow[%u]", field, r->n);
	snprintf(prefix, sizeof(prefix), "%.94s.", path);
	if (v.type != J_OBJECT)
		return err_field(e, path, "FIELD_INVALID", "%s must be an object", path);
	ret = jdec_strict(v.raw, entry_fields, prefix, "an entry has no such member", &a, e);
	if (ret < 0)
		return ret;
	/* Counted before it is complete, so that egress_rules_free frees it after an error. */
	x = GROW(r->entries, r->n);
	ret = read_host(x, a.host, prefix, e);
	if (ret == 0)
		ret = read_ports(x, a.ports, prefix, e);
	if (ret == 0)
		ret = egress_rules_check_room(r, x, path, e);
	jdec_free(entry_fields, &a);
	return ret;
}

static int egress_rules_read_entries(struct egress_rules *r, struct slice array, const char *field,
				     struct err *e)
{
	jarr_each(v, array) {
		int ret = egress_rules_read_entry(r, v, field, e);

		if (ret < 0)
			return ret;
	}
	return 0;
}

struct rules_args {
	char *mode;
	struct slice allow;
	bool ask;
};

#define MODE_BYTES_MAX 32

static const struct jfield rules_fields[] = {
	JF_STR(struct rules_args, mode, "mode", JF_REQUIRED, MODE_BYTES_MAX),
	JF_ARR(struct rules_args, allow, "allow", 0),
	JF_BOOL(struct rules_args, ask, "ask", 0),
	JF_END,
};

static int egress_rules_bad_member(const char *field, const char *member, const char *what,
				   struct err *e)
{
	const char *path = SHORT_TEXT(FIELD_SIZE, "%s.%s", field, member);

	return err_field(e, path, "FIELD_INVALID", "%s %s", path, what);
}

static int read_mode(struct egress_rules *r, const struct rules_args *a, const char *field,
		     struct err *e)
{
	while (r->mode < EGRESS_MODE_MAX && strcmp(egress_modes[r->mode], a->mode) != 0)
		r->mode++;
	if (r->mode == EGRESS_MODE_MAX)
		return egress_rules_bad_member(field, "mode", "must be off, allowlist or on", e);
	if (r->mode == EGRESS_ALLOWLIST)
		return 0;
	if (a->allow.n)
		return egress_rules_bad_member(field, "allow", "needs the mode allowlist", e);
	if (a->ask)
		return egress_rules_bad_member(field, "ask", "needs the mode allowlist", e);
	return 0;
}

int egress_rules_parse(struct slice json, const char *field, struct egress_rules **ret,
		       struct err *e)
{
	struct egress_rules *r;
	struct rules_args a = { 0 };
	int code;

	*ret = NULL;
	code = jdec_strict(json, rules_fields, SHORT_TEXT(FIELD_SIZE, "%s.", field),
			   "a network has no such member", &a, e);
	if (code < 0)
		return code;
	r = new0(struct egress_rules);
	r->ask = a.ask;
	code = read_mode(r, &a, field, e);
	if (code == 0)
		code = egress_rules_read_entries(r, a.allow, field, e);
	jdec_free(rules_fields, &a);
	*ret = code < 0 ? egress_rules_free(r) : r;
	return code;
}

/* --- life ----------------------------------------------------------------------------------------------------- */

struct egress_rules *egress_rules_free(struct egress_rules *r)
{
	if (!r)
		return NULL;
	for (unsigned i = 0; i < r->n; i++)
		free_each(r->entries[i].host, r->entries[i].ports);
	free_each(r->entries, r);
	return NULL;
}

struct egress_rules *egress_rules_copy(const struct egress_rules *r)
{
	struct egress_rules *copy = new0(struct egress_rules);

	copy->mode = r->mode;
	copy->ask = r->ask;
	copy->bytes = r->bytes;
	for (unsigned i = 0; i < r->n; i++) {
		struct egress_entry *x = GROW(copy->entries, copy->n);

		x->host = xstrdup(r->entries[i].host);
		for (unsigned p = 0; p < r->entries[i].nports; p++)
			*GROW(x->ports, x->nports) = r->entries[i].ports[p];
	}
	return copy;
}

static void egress_rules_put_entry(const struct egress_entry *x, struct jw *w)
{
	char host[EGRESS_HOST_SIZE + 2];

	snprintf(host, sizeof(host), "%s%s", x->host[0] == '.' ? "*" : "", x->host);
	jw_obj(w, NULL);
	jw_str(w, "host", host);
	if (x->nports)
		jw_arr(w, "ports");
	for (unsigned i = 0; i < x->nports; i++)
		jw_uint(w, NULL, x->ports[i]);
	if (x->nports)
		jw_end_arr(w);
	jw_end_obj(w);
}

void egress_rules_put_members(const struct egress_rules *r, struct jw *w)
{
	jw_str(w, "mode", egress_modes[r->mode]);
	if (r->n) {
		jw_arr(w, "allow");
		for (unsigned i = 0; i < r->n; i++)
			egress_rules_put_entry(&r->entries[i], w);
		jw_end_arr(w);
	}
	if (r->ask)
		jw_bool(w, "ask", true);
}

void egress_rules_put(const struct egress_rules *r, struct jw *w, const char *key)
{
	jw_obj(w, key);
	egress_rules_put_members(r, w);
	jw_end_obj(w);
}

enum egress_mode egress_rules_mode(const struct egress_rules *r)
{
	return r->mode;
}

bool egress_rules_ask(const struct egress_rules *r)
{
	return r->ask;
}

/* Compared as text: the same entries in another order count as different. */
bool egress_rules_same(const struct egress_rules *a, const struct egress_rules *b)
{
	_cleanup_(buf_done) struct buf ta = { 0 }, tb = { 0 };

	egress_rules_put(a, &JW(&ta), NULL);
	egress_rules_put(b, &JW(&tb), NULL);
	return slice_eq(buf_slice(&ta), buf_slice(&tb));
}

/* --- what they say -------------------------------------------------------------------------------------------- */

static bool is_usual(int port)
{
	return port == 443 || port == 80;
}

static int egress_rules_add_host(struct egress_rules *r, const char *host, struct err *e)
{
	struct egress_entry *x = GROW(r->entries, r->n);
	const char *bad = egress_rules_take_host(slice_of(host), x);

	if (bad)
		return err_field(e, "host", "FIELD_INVALID", "host: %s", bad);
	return egress_rules_check_room(r, x, "host", e);
}

struct egress_rules *egress_rules_with(const struct egress_rules *r, const char *host, int port,
				       struct err *e)
{
	struct egress_rules *more = egress_rules_copy(r);
	int code = egress_rules_add_host(more, host, e);

	/* an entry of its own: it then is no port that somebody wrote beside 80 */
	if (code == 0 && !is_usual(port)) {
		code = egress_rules_add_host(more, host, e);
		if (code == 0) {
			struct egress_entry *x = &more->entries[more->n - 1];

			*GROW(x->ports, x->nports) = (uint16_t)port;
		}
	}
	return code < 0 ? egress_rules_free(more) : more;
}

static bool entry_matches(const struct egress_entry *x, struct slice host)
{
	size_t n = strlen(x->host);

	if (x->host[0] != '.')
		return slice_is(host, x->host);
	return host.n > n && memcmp(host.p + host.n - n, x->host, n) == 0;
}

static bool entry_has_port(const struct egress_entry *x, int port)
{
	for (unsigned i = 0; i < x->nports; i++)
		if (x->ports[i] == port)
			return true;
	return false;
}

static enum egress_answer match_entries(const struct egress_rules *r, struct slice host, int port,
					bool *plain)
{
	enum egress_answer found = EGRESS_HOST_UNKNOWN;

	for (unsigned i = 0; i < r->n; i++) {
		const struct egress_entry *x = &r->entries[i];
		bool written;

		if (!entry_matches(x, host))
			continue;
		written = entry_has_port(x, port);
		if (written || (!x->nports && is_usual(port)))
			found = EGRESS_ALLOWED;
		else if (found == EGRESS_HOST_UNKNOWN)
			found = EGRESS_PORT_UNKNOWN;
		/* A written port lets more than TLS pass, except 443. */
		*plain |= written && port != 443;
	}
	return found;
}

enum egress_answer egress_rules_match(const struct egress_rules *r, const char *host, int port,
				      bool *plain)
{
	bool ignored = false;

	plain = plain ? plain : &ignored;
	*plain = false;
	if (r->mode == EGRESS_OFF)
		return EGRESS_HOST_UNKNOWN;
	if (r->mode == EGRESS_ON) {
		*plain = port != 443;
		return EGRESS_ALLOWED;
	}
	return match_entries(r, slice_of(host), port, plain);
}

/* --- more, or less --------------------------------------------------------------------------------------------- */

/* Every host that x names, y names too. */
static bool entry_covers(const struct egress_entry *y, const struct egress_entry *x)
{
	return strcmp(y->host, x->host) == 0 || entry_matches(y, slice_of(x->host));
}

/* written: only an entry that writes the port has it. Such an entry lets more than TLS pass, except on port 443. */
static bool rules_have_port(const struct egress_rules *r, const struct egress_entry *x, int port,
			    bool written)
{
	for (unsigned i = 0; i < r->n; i++) {
		const struct egress_entry *y = &r->entries[i];

		if (entry_covers(y, x) &&
		    (entry_has_port(y, port) || (!written && !y->nports && is_usual(port))))
			return true;
	}
	return false;
}

static bool rules_have_entry(const struct egress_rules *r, const struct egress_entry *x)
{
	if (!x->nports)
		return rules_have_port(r, x, 443, false) && rules_have_port(r, x, 80, false);
	for (unsigned i = 0; i < x->nports; i++)
		if (!rules_have_port(r, x, x->ports[i], x->ports[i] != 443))
			return false;
	return true;
}

bool egress_rules_within(const struct egress_rules *a, const struct egress_rules *b)
{
	/* The modes are in order of what they permit: off, allowlist, on. */
	if (a->mode != EGRESS_ALLOWLIST || b->mode != EGRESS_ALLOWLIST)
		return a->mode <= b->mode;
	if (a->ask && !b->ask)
		return false;
	for (unsigned i = 0; i < a->n; i++)
		if (!rules_have_entry(b, &a->entries[i]))
			return false;
	return true;
}
