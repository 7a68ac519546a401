/*
 * fetch_transfer.c - one libcurl transfer: set-up, address checks, flow control, silence, verdict.
 *
 * transfer_judge() checks the URL, on_open_socket each address that libcurl is about to connect to, and
 * on_before_request the address of a reused connection. The daemon has at most FETCH_WINDOW
 * unconfirmed bytes; then the write callback pauses. `ended` makes END unique. The owner frees the
 * transfer later, because transfer_finish() may run inside a callback of libcurl.
 */
#include "fetch/fetch.h"

#include "base/clock.h"
#include "base/util.h"
#include "base/net/address_rules.h"

#include <netinet/in.h>
#include <sys/mman.h>

#define CONNECT_MS 30000L
#define KEEPALIVE_SECS 60L

struct fetch_transfer {
	struct fetch_world *world;
	uint32_t number;
	CURL *easy;
	struct call_url url;
	struct curl_slist *headers;
	void *body;
	size_t body_n;
	enum call_reach reach;
	struct answer_head head;
	size_t untaken; /* bytes that were sent to the daemon, and that it has not taken */
	bool added, paused, refused, dialled, too_large, ended;
	uint64_t heard, idle_ms;
	curl_off_t uploaded;
	struct loop_timer timer;
	struct loop_task task;
	char error[CURL_ERROR_SIZE];
};

/* --- the end -------------------------------------------------------------------------------------------------- */

static void transfer_report_end(void *ctx)
{
	struct fetch_transfer *t = ctx;

	t->world->ended(t->world->ctx, t->number);
}

static void transfer_finish(struct fetch_transfer *t, enum fetch_end how, const char *why)
{
	struct fetch_verdict v = { .how = how };
	_cleanup_(buf_done) struct buf b = { 0 };

	if (t->ended)
		return;
	t->ended = true;
	loop_timer_cancel(&t->timer);
	snprintf(v.why, sizeof(v.why), "%s", why);
	err_flatten(v.why);
	fetch_verdict_put(&b, &v);
	frame_channel_send(t->world->channel, FRAME_END, t->number, buf_slice(&b), -1);
	loop_defer(t->world->loop, &t->task, transfer_report_end, t);
}

static enum fetch_end transfer_end_of(const struct fetch_transfer *t, CURLcode how)
{
	if (how == CURLE_OK)
		return FETCH_COMPLETE;
	if (t->refused && !t->dialled)
		return FETCH_REFUSED;
	if (how == CURLE_UNSUPPORTED_PROTOCOL || how == CURLE_URL_MALFORMAT)
		return FETCH_REFUSED;
	return t->head.over || t->too_large ? FETCH_CUT : FETCH_UNREACHABLE;
}

void fetch_transfer_over(CURL *easy, CURLcode how)
{
	struct fetch_transfer *t = NULL;
	const char *why = "";
	enum fetch_end end;

	curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&t);
	end = transfer_end_of(t, how);
	if (end == FETCH_REFUSED && t->refused)
		why = "the host means a private address, which is not called without --upstream-allow";
	else if (t->too_large)
		why = "the head of the answer is too large";
	else if (end != FETCH_COMPLETE)
		why = t->error[0] ? t->error : curl_easy_strerror(how);
	transfer_finish(t, end, why);
}

/* Its bytes are counted by libcurl alone while the body goes out. */
static bool has_uploaded(struct fetch_transfer *t)
{
	curl_off_t now = 0;
	bool more;

	curl_easy_getinfo(t->easy, CURLINFO_SIZE_UPLOAD_T, &now);
	more = now > t->uploaded;
	t->uploaded = now;
	return more;
}

static void check_silence(void *ctx)
{
	struct fetch_transfer *t = ctx;
	uint64_t now = clock_mono_ms();

	if (t->paused || has_uploaded(t))
		t->heard = now;
	if (now - t->heard >= t->idle_ms)
		transfer_finish(t, FETCH_SILENT, "nothing was heard for too long");
	else
		loop_timer_set(t->world->loop, &t->timer, t->heard + t->idle_ms - now,
			       check_silence, t);
}

/* --- what libcurl calls --------------------------------------------------------------------------------------- */

static curl_socket_t on_open_socket(void *ctx, curlsocktype purpose _unused_,
				    struct curl_sockaddr *a)
{
	struct fetch_transfer *t = ctx;

	if (!call_reach_permits(t->reach, &a->addr)) {
		t->refused = true;
		return CURL_SOCKET_BAD;
	}
	t->dialled = true;
	return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

/* Before each request, on a connection that was kept, too. */
static int on_before_request(void *ctx, char *to, char *from _unused_, int port _unused_,
			     int own_port _unused_)
{
	struct fetch_transfer *t = ctx;
	struct sockaddr_storage a;

	if (t->reach == REACH_ALL || (address_parse(slice_of(to), &a) &&
				      call_reach_permits(t->reach, (struct sockaddr *)&a)))
		return CURL_PREREQFUNC_OK;
	t->refused = true;
	t->dialled = false;
	return CURL_PREREQFUNC_ABORT;
}

static void transfer_send_head(struct fetch_transfer *t, int status)
{
	_cleanup_(buf_done) struct buf json = { 0 }, b = { 0 };

	answer_head_put(&t->head, &json);
	fetch_answer_put(&b, status, buf_slice(&json));
	frame_channel_send(t->world->channel, FRAME_HEAD, t->number, buf_slice(&b), -1);
	answer_head_done(&t->head);
}

static size_t on_header(char *p, size_t size, size_t n, void *ctx)
{
	struct fetch_transfer *t = ctx;
	long status = 0;
	int r;

	t->heard = clock_mono_ms();
	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	r = answer_head_line(&t->head, (struct slice){ p, size * n }, status < 200);
	if (r < 0) {
		t->too_large = true;
		return 0;
	}
	if (r > 0)
		transfer_send_head(t, (int)status);
	return size * n;
}

static size_t on_transfer_data(char *p, size_t size, size_t n, void *ctx)
{
	struct fetch_transfer *t = ctx;
	size_t bytes = size * n;

	t->heard = clock_mono_ms();
	if (t->untaken + bytes > FETCH_WINDOW) {
		t->paused = true;
		return CURL_WRITEFUNC_PAUSE;
	}
	t->untaken += bytes;
	frame_channel_send(t->world->channel, FRAME_DATA, t->number, (struct slice){ p, bytes },
			   -1);
	return bytes;
}

void fetch_transfer_taken(struct fetch_transfer *t, size_t n)
{
	t->untaken -= MIN(n, t->untaken);
	if (!t->paused || t->ended || t->untaken > FETCH_WINDOW / 2)
		return;
	t->paused = false;
	t->heard = clock_mono_ms();
	curl_loop_resume(t->world->curl, t->easy);
}

/* --- the beginning -------------------------------------------------------------------------------------------- */

static void set_method(struct fetch_transfer *t, const char *method)
{
	bool posts = t->body_n || strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 ||
		     strcmp(method, "PATCH") == 0;

	if (strcmp(method, "HEAD") == 0) {
		curl_easy_setopt(t->easy, CURLOPT_NOBODY, 1L);
		return;
	}
	if (posts) { /* the body is not copied, and can be sent again */
		curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->body_n);
		curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, t->body ? t->body : "");
	}
	curl_easy_setopt(t->easy, CURLOPT_CUSTOMREQUEST, method);
}

static void set_callbacks(struct fetch_transfer *t)
{
	curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t);
	curl_easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->error);
	curl_easy_setopt(t->easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
	curl_easy_setopt(t->easy, CURLOPT_OPENSOCKETDATA, t);
	curl_easy_setopt(t->easy, CURLOPT_PREREQFUNCTION, on_before_request);
	curl_easy_setopt(t->easy, CURLOPT_PREREQDATA, t);
	curl_easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, t);
	curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, on_transfer_data);
	curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
}

static void set_connection(struct fetch_transfer *t, const char *proxy)
{
	curl_easy_setopt(t->easy, CURLOPT_CURLU, t->url.parsed);
	curl_easy_setopt(t->easy, CURLOPT_PROXY, proxy ? proxy : "");
	curl_easy_setopt(t->easy, CURLOPT_NOPROXY, ""); /* that has been decided */
	curl_easy_setopt(t->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(t->easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(t->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	/* decodes what comes compressed although nobody asked for it; call_headers sends no such field of libcurl's */
	curl_easy_setopt(t->easy, CURLOPT_ACCEPT_ENCODING, "identity");
	curl_easy_setopt(t->easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(t->easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	curl_easy_setopt(t->easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(t->easy, CURLOPT_TCP_KEEPIDLE, KEEPALIVE_SECS);
	curl_easy_setopt(t->easy, CURLOPT_TCP_KEEPINTVL, KEEPALIVE_SECS / 4);
	curl_easy_setopt(t->easy, CURLOPT_NOSIGNAL, 1L);
	/* a resolver that hangs is left behind in its thread, not waited for */
	curl_easy_setopt(t->easy, CURLOPT_QUICK_EXIT, 1L);
}

/* Each connection would parse all certificates anew if a directory of them were named, too (that is the default). */
static void set_tls(struct fetch_transfer *t)
{
	curl_easy_setopt(t->easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(t->easy, CURLOPT_CAINFO, t->world->ca_file);
	curl_easy_setopt(t->easy, CURLOPT_CAPATH, NULL);
	curl_easy_setopt(t->easy, CURLOPT_PROXY_CAINFO, t->world->ca_file);
	curl_easy_setopt(t->easy, CURLOPT_PROXY_CAPATH, NULL);
}

static int transfer_take_body(struct fetch_transfer *t, size_t n, int fd)
{
	void *p = n ? mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;

	if (p == MAP_FAILED)
		return -errno;
	t->body = p;
	t->body_n = n;
	return 0;
}

/* NULL, or why it may not be called. */
static const char *transfer_judge(struct fetch_transfer *t, const struct fetch_order *o,
				  const char **proxy)
{
	const struct fetch_settings *s = &t->world->settings;
	const char *bad = call_url_parse(&t->url, o->url);
	struct slice host;

	if (bad)
		return bad;
	host = slice_of(t->url.host);
	*proxy = proxy_rule_of(s, t->url.https, host, t->url.port);
	return call_reach_of(host, t->url.port, o->named, *proxy, s->allow, &t->reach);
}

static bool transfer_begin(struct fetch_transfer *t, const struct fetch_order *o, const char *key,
			   int body)
{
	const char *proxy = NULL, *bad = transfer_judge(t, o, &proxy);

	if (bad) {
		transfer_finish(t, FETCH_REFUSED, bad);
		return false;
	}
	if (o->key && !key) {
		transfer_finish(t, FETCH_NO_LOCK, "cannot lock memory for the request's key");
		return false;
	}
	if (t->url.https && !t->world->ca_file) {
		transfer_finish(t, FETCH_UNREACHABLE,
				"there is no file of trusted certificates (--ca-file)");
		return false;
	}
	t->easy = curl_easy_init();
	t->headers = call_headers(o->headers, key);
	if (!t->easy || !t->headers || transfer_take_body(t, (size_t)o->body, body) < 0)
		return false;
	set_callbacks(t);
	set_connection(t, proxy);
	set_tls(t);
	set_method(t, o->method);
	curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers);
	t->added = curl_loop_add(t->world->curl, t->easy);
	return t->added;
}

struct fetch_transfer *fetch_transfer_start(struct fetch_world *w, uint32_t number,
					    const struct fetch_order *o, const char *key, int body)
{
	struct fetch_transfer *t = new0(struct fetch_transfer);

	t->world = w;
	t->number = number;
	t->idle_ms = (uint64_t)o->idle_ms;
	t->heard = clock_mono_ms();
	if (!transfer_begin(t, o, key, body))
		transfer_finish(t, FETCH_UNAVAILABLE, "acpd-fetch cannot prepare the request");
	else
		loop_timer_set(w->loop, &t->timer, t->idle_ms, check_silence, t);
	closep(&body);
	return t;
}

struct fetch_transfer *fetch_transfer_free(struct fetch_transfer *t)
{
	if (!t)
		return NULL;
	loop_timer_cancel(&t->timer);
	loop_task_cancel(&t->task);
	if (t->added)
		curl_loop_remove(t->world->curl, t->easy);
	if (t->easy)
		curl_easy_cleanup(t->easy);
	/* After the handle, which borrows the headers, the URL and the body. */
	call_headers_free(t->headers);
	call_url_done(&t->url);
	answer_head_done(&t->head);
	if (t->body)
		munmap(t->body, t->body_n);
	free(t);
	return NULL;
}
