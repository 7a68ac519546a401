/*
 * admission.c - checks token, Host and Origin of a client; retains only SHA-256 digests of tokens.
 *
 * A digest is compared with the claim's token and all minted ones in each case, in constant time.
 * Authorization precedes the subprotocols, and these the URL; an invalid Authorization is final.
 * Text that two parsers could split differently yields no host, so it matches nothing. Replacing or
 * revoking the token of the claim ends its connections at once, through its grant.
 */
#include "net/claim/admission.h"

#include "base/format/digits.h"
#include "base/http/http_fields.h"
#include "base/os/file.h"
#include "proc/users/uid_range.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <pwd.h>
#include <strings.h>
#include <sys/statvfs.h>

#define BEARER_ITEM "acpd.bearer."
#define SUBPROTOCOL "acp.v1"

struct admission {
	struct sha256 token, file; /* file: as the token file was read last */
	bool claimed, filed, allow_query_token;
	struct grant *own; /* of the claim's token; NULL: there is none */
	char *hosts, *origins;
	bool has_agent;
	uid_t agent;		 /* of --agent-user */
	struct uid_range agents; /* of sessions */
	struct tokens *minted;	 /* NULL: none can be */
};

struct admission *admission_new(const struct admission_config *cfg)
{
	struct admission *g = new0(struct admission);

	admission_set(g, cfg);
	return g;
}

static void set_agents(struct admission *g, const struct admission_config *cfg)
{
	const struct passwd *pw = cfg->agent_user && *cfg->agent_user ? getpwnam(cfg->agent_user) :
									NULL;
	struct err e;

	g->has_agent = pw;
	g->agent = pw ? pw->pw_uid : 0;
	if (uid_range_parse(cfg->agent_uids, &g->agents, &e) < 0)
		g->agents = (struct uid_range){ 0, 0 };
}

void admission_set(struct admission *g, const struct admission_config *cfg)
{
	set_agents(g, cfg);
	xstrset(&g->hosts, cfg->allow_hosts);
	xstrset(&g->origins, cfg->allow_origins);
	g->allow_query_token = cfg->allow_query_token;
}

struct admission *admission_free(struct admission *g)
{
	if (!g)
		return NULL;
	secret_wipe(&g->token, sizeof(g->token));
	secret_wipe(&g->file, sizeof(g->file));
	grant_unref(g->own);
	free_each(g->hosts, g->origins, g);
	return NULL;
}

/* Nobody who calls this is one of its connections. */
static void end_own(struct admission *g, const char *why)
{
	struct grant *old = TAKE_PTR(g->own);

	if (old)
		grant_cut(old, why);
	grant_unref(old);
}

void admission_forget(struct admission *g)
{
	secret_wipe(&g->token, sizeof(g->token));
	g->claimed = false;
	end_own(g, "Token revoked");
	tokens_forget(g->minted);
}

void admission_use(struct admission *g, struct tokens *minted)
{
	g->minted = minted;
	if (g->claimed)
		tokens_begin(minted, &g->token, false);
}

bool admission_claimed(const struct admission *g)
{
	return g->claimed;
}

bool admission_query_token(const struct admission *g)
{
	return g->allow_query_token;
}

static struct slice admission_trim(struct slice s)
{
	return slice_trim(s, " \t\n\v\f\r");
}

static int admission_digest_of(struct slice token, struct sha256 *ret, struct err *e)
{
	if (slice_starts(token, "sha256:")) {
		if (sha256_from_hex((struct slice){ token.p + 7, token.n - 7 }, ret) == 0)
			return 0;
		return err_set(e, -EINVAL, 0, "TOKEN_INVALID",
			       "sha256: must be followed by 64 hex digits");
	}
	if (token.n < TOKEN_MIN || token.n > TOKEN_MAX)
		return err_set(e, -EINVAL, 0, "TOKEN_INVALID", "a token has %d to %d characters",
			       TOKEN_MIN, TOKEN_MAX);
	return sha256_of(token, ret);
}

/* Nobody here can write it, and its owner, who mounted it, is nobody of this container. */
static bool is_mounted_secret(const struct admission *g, int fd, const struct stat *sb)
{
	bool agents = (g->has_agent && sb->st_uid == g->agent) ||
		      uid_range_has(&g->agents, sb->st_uid);
	struct statvfs v;

	return S_ISREG(sb->st_mode) && !agents && fstatvfs(fd, &v) == 0 && (v.f_flag & ST_RDONLY);
}

/* The owner of the file decides who may connect: it must be root or our user, and others may not read it. */
static int check_owner(const struct admission *g, int fd, bool appeared, struct err *e)
{
	struct stat sb;

	if (fstat(fd, &sb) < 0)
		return -errno;
	/* Who watches a file cannot choose it: no link to another, nothing to wait for. */
	if (appeared && !S_ISREG(sb.st_mode))
		return err_set(e, -EPERM, 0, "TOKEN_UNSAFE", "it is not a regular file");
	if (sb.st_uid != 0 && sb.st_uid != geteuid() && !is_mounted_secret(g, fd, &sb))
		return err_set(
			e, -EPERM, 0, "TOKEN_UNSAFE",
			"it belongs to uid %u, not to root or the daemon (chown it, or mount "
			"it read-only)",
			(unsigned)sb.st_uid);
	if (S_ISREG(sb.st_mode) && (sb.st_mode & 077))
		return err_set(e, -EPERM, 0, "TOKEN_UNSAFE", "others can read it (chmod 600)");
	fcntl(fd, F_SETFL, 0); /* another user's pipe would have blocked us */
	return 0;
}

static int open_token(const struct admission *g, const char *path, bool appeared, struct err *e)
{
	/* O_NONBLOCK: a FIFO must not block the open until a writer comes. */
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (appeared ? O_NOFOLLOW : 0);
	_cleanup_(closep) int fd = open(path, flags);
	int r = fd < 0 ? -errno : 0;

	if (r == -ELOOP && appeared)
		return err_set(e, -EPERM, 0, "TOKEN_UNSAFE", "it is a symbolic link");
	if (r == 0)
		r = check_owner(g, fd, appeared, e);
	return r < 0 ? r : TAKE_FD(fd);
}

int admission_read(const struct admission *g, const char *path, bool appeared, struct sha256 *ret,
		   struct err *e)
{
	_cleanup_(secret_buf_done) struct buf b = { 0 };
	_cleanup_(closep) int fd = open_token(g, path, appeared, e);
	int r = fd;

	if (r == -ENOENT || r == -EPERM)
		return r;
	if (r >= 0)
		r = file_read_fd(fd, TOKEN_MAX + 16, &b);
	if (r < 0)
		return err_set(e, r, 0, "TOKEN_UNREADABLE", "token file: %s", strerror(-r));
	return admission_digest_of(admission_trim(buf_slice(&b)), ret, e);
}

int admission_load(struct admission *g, const char *path, struct err *e)
{
	struct sha256 token;
	int r = admission_read(g, path, false, &token, e);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	/* Recorded, so that claim_desk_load does not take this content for a change. */
	(void)admission_file_changed(g, &token);
	admission_set_token(g, &token, false);
	return 0;
}

void admission_set_token(struct admission *g, const struct sha256 *token, bool keep)
{
	/* The same token again keeps its connections. */
	if (g->claimed && !sha256_equal(token, &g->token))
		end_own(g, "Token replaced");
	g->token = *token;
	g->claimed = true;
	if (!g->own)
		g->own = grant_new_claim();
	tokens_begin(g->minted, token, keep);
}

bool admission_file_changed(struct admission *g, const struct sha256 *token)
{
	bool same = g->filed && sha256_equal(&g->file, token);

	g->file = *token;
	g->filed = true;
	return !same;
}

static int admission_take_digest(struct slice digest, struct sha256 *ret, struct err *e)
{
	if (slice_starts(digest, "sha256:") && admission_digest_of(digest, ret, e) == 0)
		return 0;
	return err_field(e, "digest", "TOKEN_INVALID", "digest must be sha256:<64 hex digits>");
}

void admission_put_digest(const struct admission *g, struct jw *w)
{
	char text[SHA256_TEXT];

	jw_str(w, "digest", sha256_text(&g->token, text));
}

void admission_put_file(const struct admission *g, struct jw *w)
{
	jw_str(w, "file", g->filed ? SHA256_HEX_OF(&g->file) : NULL);
}

static int check_claim(const struct admission *g, struct slice digest, struct sha256 *ret,
		       struct err *e)
{
	int r = admission_take_digest(digest, ret, e);

	if (r < 0)
		return r;
	if (g->claimed && !sha256_equal(ret, &g->token))
		return err_set(e, -EALREADY, RPC_INVALID_REQUEST, "ALREADY_CLAIMED",
			       "the daemon is claimed with another token");
	return 0;
}

int admission_claim_check(const struct admission *g, struct slice digest, struct err *e)
{
	struct sha256 d;

	return check_claim(g, digest, &d, e);
}

int admission_claim(struct admission *g, struct slice digest, struct err *e)
{
	struct sha256 d;
	int r = check_claim(g, digest, &d, e);

	if (r < 0)
		return r;
	admission_set_token(g, &d, false);
	return 0;
}

int admission_replace(struct admission *g, struct slice digest, bool keep, struct err *e)
{
	struct sha256 d;
	int r = admission_take_digest(digest, &d, e);

	if (r == 0)
		admission_set_token(g, &d, keep);
	return r;
}

/* --- Host and Origin ------------------------------------------------------------------------------- */

static bool admission_in_list(const char *list, struct slice item)
{
	struct slice rest = slice_of(list), own;

	while (slice_item(&rest, ',', &own))
		if (http_words_same(admission_trim(own), item))
			return true;
	return false;
}

/* ":" and a port, or nothing; the port may be empty (RFC 9110 7.2). */
static bool is_port(struct slice s)
{
	uint64_t port = 0;

	if (s.n > 6 || (s.n && !slice_skip(&s, ":")))
		return false;
	return !s.n || (u64_parse(s, &port) && port <= 65535);
}

/* Without the port; keeps the brackets of an IPv6 literal. Empty if the whole is not a host and port: two readers may
 * not agree on the host that other text names. */
static struct slice host_name(struct slice host)
{
	const char *end = host.p + host.n, *rest = host.p;

	if (host.n && *rest == '[') {
		rest = memchr(host.p, ']', host.n);
		rest = rest ? rest + 1 : end;
	} else {
		while (rest < end && (isalnum((unsigned char)*rest) || strchr("-._", *rest)) &&
		       *rest)
			rest++;
	}
	if (!is_port((struct slice){ rest, (size_t)(end - rest) }))
		return SLICE_NONE;
	return (struct slice){ host.p, (size_t)(rest - host.p) };
}

static bool is_ip_literal(struct slice h)
{
	unsigned char address[sizeof(struct in6_addr)];
	char text[INET6_ADDRSTRLEN];
	bool six = h.n > 2 && h.p[0] == '[' && h.p[h.n - 1] == ']';

	if (six)
		h = (struct slice){ h.p + 1, h.n - 2 };
	if (h.n >= sizeof(text))
		return false;
	memcpy(text, h.p, h.n);
	text[h.n] = '\0';
	return inet_pton(six ? AF_INET6 : AF_INET, text, address) == 1;
}

/* "<port>-<sandbox id>.<domain>" */
static bool is_e2b_host(struct slice h)
{
	size_t i = 0, id;

	while (i < h.n && isdigit((unsigned char)h.p[i]))
		i++;
	if (!i || i > 5 || i >= h.n || h.p[i] != '-')
		return false;
	id = ++i;
	while (i < h.n && isalnum((unsigned char)h.p[i]))
		i++;
	return i > id && i < h.n && h.p[i] == '.' && i + 1 < h.n;
}

bool admission_host_ok(const struct admission *g, struct slice host)
{
	struct slice h = host_name(host);

	if (!h.n)
		return false;
	return (h.n == 9 && strncasecmp(h.p, "localhost", 9) == 0) || is_ip_literal(h) ||
	       is_e2b_host(h) || admission_in_list(g->hosts, h) ||
	       admission_in_list(g->hosts, host);
}

bool admission_origin_ok(const struct admission *g, struct slice origin)
{
	return !origin.n || admission_in_list(g->origins, origin);
}

/* The page was served under this very host. A proxy may add TLS, so either scheme counts. */
bool admission_origin_own(struct slice origin, struct slice host)
{
	return (slice_skip(&origin, "http://") || slice_skip(&origin, "https://")) &&
	       http_words_same(origin, host);
}

/* --- tokens ------------------------------------------------------------------------------------------ */

/* All of them are compared, whichever it is. */
static const struct grant *grant_of(const struct admission *g, struct slice token)
{
	const struct grant *minted;
	struct sha256 d;

	if (!g->claimed || !token.n || token.n > TOKEN_MAX || sha256_of(token, &d) < 0)
		return NULL;
	minted = tokens_find(g->minted, &d);
	return sha256_equal(&d, &g->token) ? g->own : minted;
}

/* The token is in base64url, because a subprotocol cannot contain '/' or '=' (RFC 6455, section 4.1). */
static const struct grant *grant_of_protocols(const struct admission *g, struct slice protocols)
{
	struct slice item;

	while (slice_item(&protocols, ',', &item)) {
		unsigned char token[2 * TOKEN_MAX];
		const struct grant *ret;
		int n;

		item = admission_trim(item);
		if (!slice_skip(&item, BEARER_ITEM))
			continue;
		if (item.n > sizeof(token))
			return NULL;
		n = base64url_decode(item, token);
		ret = n > 0 ? grant_of(g, (struct slice){ (const char *)token, (size_t)n }) : NULL;
		secret_wipe(token, sizeof(token));
		return ret;
	}
	return NULL;
}

const struct grant *admission_grant(const struct admission *g, struct slice authorization,
				    struct slice protocols, struct slice query)
{
	const struct grant *ret;

	if (authorization.n) {
		if (authorization.n < 7 || strncasecmp(authorization.p, "Bearer ", 7) != 0)
			return NULL;
		return grant_of(g, admission_trim((struct slice){ authorization.p + 7,
								  authorization.n - 7 }));
	}
	ret = protocols.n ? grant_of_protocols(g, protocols) : NULL;
	if (ret)
		return ret;
	return g->allow_query_token && query.n ? grant_of(g, query) : NULL;
}

const char *admission_subprotocol(struct slice protocols)
{
	struct slice item;

	if (!admission_trim(protocols).n)
		return "";
	while (slice_item(&protocols, ',', &item))
		if (slice_is(admission_trim(item), SUBPROTOCOL))
			return SUBPROTOCOL;
	return NULL;
}
