/*
 * webhook_list.c - parses the receivers of webhooks from a file or a claim, completely or not at
 * all.
 *
 * URLs and secrets are in locked memory, and every other copy is wiped. A host is checked against
 * the address rules here, and by acpd-fetch again for each address it calls. The key of a spool is
 * a digest of id or URL, because a URL can contain a secret and the key names a directory. The file
 * must belong to root or the daemon's user, without access for others.
 */
#include "outbox/webhook_list.h"

#include "base/http/authority.h"
#include "base/net/address_rules.h"
#include "base/os/file.h"
#include "digest/base64.h"
#include "digest/digest.h"
#include "json/json.h"

#define SECRET_PREFIX "whsec_"
#define SECRET_TEXT_MAX (WEBHOOK_SECRETS_MAX * 128)

/* One of them, as JSON has it. */
struct given {
	char *url, *secret, *id;
	struct slice events;
};

static const struct jfield fields[] = {
	JF_STR(struct given, url, "url", JF_REQUIRED | JF_FILLED, WEBHOOK_URL_MAX),
	JF_STR(struct given, secret, "secret", JF_REQUIRED | JF_FILLED, SECRET_TEXT_MAX),
	JF_STR(struct given, id, "id", JF_FILLED, WEBHOOK_ID_MAX),
	JF_ARR(struct given, events, "events", 0),
	JF_END,
};

/* Errors name "PREFIXmember". */
struct webhook_place {
	char prefix[64];
	const char *allow;
	struct err *e;
};

static int webhook_refuse(const struct webhook_place *at, const char *member, const char *reason,
			  const char *text)
{
	const char *field = SHORT_TEXT(96, "%s%s", at->prefix, member);

	return err_field(at->e, field, reason, "%s %s", field, text);
}

/* --- types of events ------------------------------------------------------------------------------------------ */

const char *const webhook_types[WEBHOOK_TYPES] = {
	[WEBHOOK_TURN_ENDED] = "turn.ended",
	[WEBHOOK_QUESTION_OPEN] = "question.open",
	[WEBHOOK_BUDGET_WARNING] = "budget.warning",
	[WEBHOOK_SESSION_BROKEN] = "session.broken",
	[WEBHOOK_ARTIFACT_CREATED] = "artifact.created",
	[WEBHOOK_CHECK_FAILED] = "check.failed",
	[WEBHOOK_DRAFT_READY] = "draft.ready",
};

static enum webhook_type webhook_type_find(struct slice name)
{
	int i = 0;

	while (i < WEBHOOK_TYPES && !slice_is(name, webhook_types[i]))
		i++;
	return (enum webhook_type)i;
}

void webhook_types_put(unsigned set, struct buf *b)
{
	bool more = false;

	for (int i = 0; i < WEBHOOK_TYPES; i++) {
		if (!(set & (1u << i)))
			continue;
		if (more)
			buf_putc(b, ',');
		buf_puts(b, webhook_types[i]);
		more = true;
	}
}

/* A type that does not exist is bit WEBHOOK_TYPES, which the mask removes. */
unsigned webhook_types_parse(struct slice names)
{
	struct slice name;
	unsigned set = 0;

	while (slice_item(&names, ',', &name))
		set |= 1u << webhook_type_find(name);
	return set & WEBHOOK_ALL;
}

/* --- addresses -------------------------------------------------------------------------------------------- */

/* The host is judged here, and again by acpd-fetch, for each address that it is about to call. */
static int webhook_check_host(const struct webhook_place *at, struct slice host, int port,
			      bool https)
{
	enum call_reach reach;
	const char *why = call_reach_of(host, port, false, false, at->allow, &reach);

	if (why)
		return webhook_refuse(at, "url", "WEBHOOK_URL_REFUSED", why + strlen("the host "));
	if (!https && !upstream_allow_has(at->allow, host, port))
		return webhook_refuse(at, "url", "WEBHOOK_URL_REFUSED",
				      "must be https, but for hosts of --upstream-allow");
	return 0;
}

static int webhook_take_url(const struct webhook_place *at, const char *url, struct webhook *w)
{
	struct slice rest = slice_of(url);
	bool plain = slice_is_visible(rest, "\\#\"<>"), https = slice_skip(&rest, "https://");
	struct authority a;

	if (!plain || (!https && !slice_skip(&rest, "http://")))
		return webhook_refuse(at, "url", "WEBHOOK_URL_INVALID", "is no https URL");
	rest.n = strcspn(rest.p, "/?");
	/* With an '@' two parsers could disagree about the host. */
	if (memchr(rest.p, '@', rest.n) || !authority_parse(rest, 1, &a))
		return webhook_refuse(at, "url", "WEBHOOK_URL_INVALID", "has no plain host");
	if (a.port < 0)
		a.port = https ? 443 : 80;
	w->url = locked_text_new(slice_of(url));
	w->host = xstrndup(a.host.p, a.host.n);
	return webhook_check_host(at, a.host, a.port, https);
}

/* --- secrets ---------------------------------------------------------------------------------------------- */

static int webhook_take_secret(const struct webhook_place *at, struct slice text, struct webhook *w)
{
	_cleanup_(secret_buf_done) struct buf bytes = { 0 };

	if (w->nsecrets == WEBHOOK_SECRETS_MAX)
		return webhook_refuse(at, "secret", "WEBHOOK_SECRET_INVALID",
				      "has too many of them");
	/* Reserved in full before decoding: a buffer that grows would leave a copy of the secret behind. */
	if (!slice_skip(&text, SECRET_PREFIX) || buf_reserve(&bytes, text.n + 4) < 0 ||
	    base64_decode(text, &bytes) < 0)
		return webhook_refuse(at, "secret", "WEBHOOK_SECRET_INVALID",
				      "must be " SECRET_PREFIX " and base64");
	if (bytes.len < WEBHOOK_SECRET_MIN || bytes.len > WEBHOOK_SECRET_MAX)
		return webhook_refuse(at, "secret", "WEBHOOK_SECRET_INVALID",
				      "must have 24 to 64 bytes");
	w->secrets[w->nsecrets++] = locked_text_new(buf_slice(&bytes));
	return 0;
}

/* Several, separated by a space, while one takes the place of another. */
static int take_secrets(const struct webhook_place *at, const char *text, struct webhook *w)
{
	struct slice rest = slice_of(text), secret;
	int r = 0;

	while (r == 0 && rest.n && slice_item(&rest, ' ', &secret))
		r = webhook_take_secret(at, secret, w);
	return r;
}

/* --- the rest --------------------------------------------------------------------------------------------- */

static int take_events(const struct webhook_place *at, struct slice events, struct webhook *w)
{
	w->events = events.n ? 0 : WEBHOOK_ALL;
	if (!events.n)
		return 0;
	jarr_each(v, events) {
		_cleanup_(freep) char *name = NULL;
		enum webhook_type type = jstr_decode(v, WEBHOOK_ID_MAX, &name) == 0 ?
						 webhook_type_find(slice_of(name)) :
						 WEBHOOK_TYPES;

		if (type == WEBHOOK_TYPES)
			return webhook_refuse(at, "events", "WEBHOOK_EVENT_UNKNOWN",
					      "has a type of event that does not exist");
		w->events |= 1u << type;
	}
	return w->events ? 0 : webhook_refuse(at, "events", "WEBHOOK_EVENT_UNKNOWN", "is empty");
}

static bool id_ok(const char *id)
{
	return strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-") ==
	       strlen(id);
}

/* A url may hold a secret, so that no name of a file is made of it but a digest. */
static void webhook_make_key(struct webhook *w)
{
	_cleanup_(secret_buf_done) struct buf b = { 0 };
	struct sha256 d = { { 0 } };

	buf_puts(&b, w->id ? "id " : "url ");
	buf_add_slice(&b, w->id ? slice_of(w->id) : locked_text_slice(w->url));
	(void)sha256_of(buf_slice(&b), &d);
	memcpy(w->key, SHA256_HEX_OF(&d), WEBHOOK_KEY_SIZE - 1);
}

static int webhook_take(const struct webhook_place *at, const struct given *g, struct webhook *w)
{
	if (g->id && !id_ok(g->id))
		return webhook_refuse(at, "id", "WEBHOOK_ID_INVALID",
				      "has letters, digits and \"._:-\" alone");
	if (webhook_take_url(at, g->url, w) < 0 || take_secrets(at, g->secret, w) < 0 ||
	    take_events(at, g->events, w) < 0)
		return -EINVAL;
	w->id = xstrdup(g->id);
	webhook_make_key(w);
	return 0;
}

static int check_unique(const struct webhook_place *at, const struct webhook_list *l,
			const struct webhook *w)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->item[i].key, w->key) == 0)
			return webhook_refuse(at, w->id ? "id" : "url", "WEBHOOK_DUPLICATE",
					      "is that of another receiver");
	return 0;
}

static void wipe(struct given *g)
{
	secret_text_wipe(g->url);
	secret_text_wipe(g->secret);
	jdec_free(fields, g);
}

static int take_item(const struct webhook_place *at, struct slice object, struct webhook_list *ret)
{
	struct webhook w = { .key = "" };
	struct given g = { 0 };
	int r = jdec_strict(object, fields, at->prefix, "a webhook has no such member", &g, at->e);

	if (r < 0)
		return r;
	r = webhook_take(at, &g, &w);
	if (r == 0)
		r = check_unique(at, ret, &w);
	/* Also after an error: the URL and the secret were decoded to the heap. */
	wipe(&g);
	if (r < 0)
		webhook_done(&w);
	else
		ret->item[ret->n++] = w;
	return r;
}

int webhook_list_parse(struct slice array, const char *field, const char *allow,
		       struct webhook_list *ret, struct err *e)
{
	struct webhook_place at = { .allow = allow, .e = e };
	int r = 0;

	*ret = (struct webhook_list){ .n = 0 };
	jarr_each_at(i, v, array) {
		snprintf(at.prefix, sizeof(at.prefix), "%.40s[%zu].", field, i);
		if (i == WEBHOOKS_MAX)
			r = err_field(e, field, "WEBHOOKS_TOO_MANY", "%s: more than %d receivers",
				      field, WEBHOOKS_MAX);
		else if (v.type != J_OBJECT)
			r = webhook_refuse(&at, "", "PARAM_INVALID", "is no object");
		else
			r = take_item(&at, v.raw, ret);
		if (r < 0)
			break;
	}
	if (r < 0)
		webhook_list_done(ret);
	return r;
}

static int webhook_check_file(int fd, const char *path, struct err *e)
{
	struct stat sb;

	if (fstat(fd, &sb) < 0 || !S_ISREG(sb.st_mode))
		return err_field(e, "webhook", "WEBHOOK_FILE_INVALID", "%s: no regular file", path);
	if ((sb.st_uid && sb.st_uid != geteuid()) || (sb.st_mode & 077))
		return err_field(e, "webhook", "WEBHOOK_FILE_INVALID",
				 "%s: must be root's or ours, and unreadable for others", path);
	return 0;
}

static int parse_file(struct slice text, const char *path, const char *allow,
		      struct webhook_list *ret, struct err *e)
{
	char why[JSCAN_TEXT_SIZE];
	struct jval v;
	enum jscan_error bad = jscan_value(text, &v);

	if (bad != JSCAN_OK)
		return err_field(e, "webhook", "WEBHOOK_FILE_INVALID", "%s: %s", path,
				 jscan_explain(text, bad, why));
	if (v.type != J_ARRAY)
		return err_field(e, "webhook", "WEBHOOK_FILE_INVALID", "%s: no JSON array", path);
	return webhook_list_parse(v.raw, "webhook", allow, ret, e);
}

/* O_NONBLOCK: a FIFO at that path must not block the daemon before its type is checked. */
int webhook_list_read(const char *path, const char *allow, struct webhook_list *ret, struct err *e)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	_cleanup_(secret_buf_done) struct buf b = { 0 };
	int r;

	*ret = (struct webhook_list){ .n = 0 };
	if (fd < 0) {
		r = errno == ENOENT ? -ENOENT : -EINVAL;
		err_field(e, "webhook", "WEBHOOK_FILE_INVALID", "%s: %s", path, strerror(errno));
		return r;
	}
	/* all at once: what it outgrew would not be wiped */
	if (webhook_check_file(fd, path, e) < 0 || buf_reserve(&b, 2 * WEBHOOK_FILE_MAX) < 0)
		return -EINVAL;
	r = file_read_fd(fd, WEBHOOK_FILE_MAX, &b);
	return r < 0 ? err_field(e, "webhook", "WEBHOOK_FILE_INVALID", "%s: %s", path,
				 strerror(-r)) :
		       parse_file(buf_slice(&b), path, allow, ret, e);
}

void webhook_done(struct webhook *w)
{
	free_each(w->id, w->host);
	locked_text_unref(w->url);
	for (size_t i = 0; i < w->nsecrets; i++)
		locked_text_unref(w->secrets[i]);
	*w = (struct webhook){ .key = "" };
}

void webhook_list_done(struct webhook_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		webhook_done(&l->item[i]);
	l->n = 0;
}
