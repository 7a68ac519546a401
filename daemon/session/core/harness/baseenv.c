/*
 * baseenv.c - the part of the daemon's environment that its children inherit, and their proxy
 * variables.
 *
 * The list is an allowlist, extended by --pass-env. ACPD_* variables are the daemon's own settings,
 * and never pass, even if --pass-env names them. Proxy variables exist in both cases because
 * programs disagree about which one they read. Loopback names must be in NO_PROXY: the harness
 * sends keys to the daemon over loopback.
 */
#include "session/core/harness/baseenv.h"

#include "base/buf.h"

#include <arpa/inet.h>

static const char *const inherited[] = {
	"PATH",
	"LANG",
	"LC_ALL",
	"TZ",
	"HTTP_PROXY",
	"HTTPS_PROXY",
	"NO_PROXY",
	"http_proxy",
	"https_proxy",
	"no_proxy",
	"SSL_CERT_FILE",
	"SSL_CERT_DIR",
	"NODE_EXTRA_CA_CERTS",
	"REQUESTS_CA_BUNDLE",
};

static const char *const loopback[] = { "localhost", "127.0.0.1", "::1" };

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* item of the list: a name, or the beginning of names. */
static bool listed(const char *list, const char *name, size_t n)
{
	while (list && *list) {
		size_t len = strcspn(list, ",");
		bool prefix = len && list[len - 1] == '*';

		if (prefix ? n >= len - 1 && memcmp(list, name, len - 1) == 0 :
			     n == len && memcmp(list, name, n) == 0)
			return true;
		list += len + (list[len] == ',');
	}
	return false;
}

/* What the operator lets through; never what is ours. */
static void put_passed(struct harness_plan *plan, const char *pass_env)
{
	for (char **e = environ; pass_env && *e; e++) {
		size_t n = strcspn(*e, "=");
		_cleanup_(freep) char *name = xstrndup(*e, n);

		/* (*e)[n] is 0 in an entry without "=". */
		if ((*e)[n] && strncmp(name, "ACPD_", 5) != 0 && listed(pass_env, name, n))
			harness_plan_env(plan, name, *e + n + 1);
	}
}

const char *baseenv_passed(const char *pass_env, const char *name)
{
	return listed(pass_env, name, strlen(name)) ? getenv(name) : NULL;
}

void baseenv_put(struct harness_plan *plan, const char *pass_env)
{
	harness_plan_env(plan, "PATH", DEFAULT_PATH);
	harness_plan_env(plan, "LANG", "C.UTF-8");
	for (size_t i = 0; i < ARRAY_SIZE(inherited); i++)
		if (getenv(inherited[i]))
			harness_plan_env(plan, inherited[i], getenv(inherited[i]));
	/* Last: --pass-env of the operator overrides the defaults above. */
	put_passed(plan, pass_env);
}

/* What is no plain name there, such as "127.*", not all programs understand. */
static bool says(const char *list, const char *name)
{
	while (*list) {
		size_t n;

		list += strspn(list, ", ");
		n = strcspn(list, ", ");
		if (n == strlen(name) && memcmp(list, name, n) == 0)
			return true;
		list += n;
	}
	return false;
}

static void add_name(struct buf *list, const char *value, const char *name)
{
	if (name && !says(value, name))
		buf_printf(list, "%s%s", buf_len(list) ? "," : "", name);
}

static void no_proxy(struct harness_plan *plan, const char *name, const char *value,
		     const char *own)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	if (strcmp(value, "*") == 0) { /* says it all, if it stands alone */
		harness_plan_env(plan, name, value);
		return;
	}
	buf_puts(&b, value);
	for (size_t i = 0; i < ARRAY_SIZE(loopback); i++)
		add_name(&b, value, loopback[i]);
	/* The host of the model calls: no proxy may come between (harness_request). */
	add_name(&b, value, own);
	buf_putc(&b, '\0');
	harness_plan_env(plan, name, b.data);
}

void baseenv_no_proxy(struct harness_plan *plan, const char *own)
{
	static const char *const names[] = { "NO_PROXY", "no_proxy" };
	_cleanup_(freep) char *one = xstrdup(harness_plan_getenv(plan, names[0])),
			      *other = xstrdup(harness_plan_getenv(plan, names[1]));

	/* programs read one or the other, so a value in one of them is set in both */
	no_proxy(plan, names[0], one ? one : other ? other : "", own);
	no_proxy(plan, names[1], other ? other : one ? one : "", own);
}

void baseenv_proxy(struct harness_plan *plan, const struct sockaddr_in *at)
{
	static const char *const names[] = {
		"HTTP_PROXY",	   "HTTPS_PROXY",      "ALL_PROXY",	   "http_proxy",
		"https_proxy",	   "all_proxy",	       "npm_config_proxy", "npm_config_https_proxy",
		"YARN_HTTP_PROXY", "YARN_HTTPS_PROXY", "PIP_PROXY",
	};
	char host[INET_ADDRSTRLEN], url[64];

	inet_ntop(AF_INET, &at->sin_addr, host, sizeof(host));
	snprintf(url, sizeof(url), "http://%s:%u", host, ntohs(at->sin_port));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		harness_plan_env(plan, names[i], url);
	harness_plan_env(plan, "NODE_USE_ENV_PROXY", "1"); /* fetch of Node asks for it */
}
