/*
 * otlp_config.c - reads the variables OTEL_* into targets, resource attributes and a sampler.
 *
 * A variable of one signal overrides the variable of all signals. An endpoint of one signal is used
 * as it is; /v1/SIGNAL is appended to the common one. Values that send data nowhere or to the wrong
 * place are errors. Other bad values are reported and ignored, as the OpenTelemetry specification
 * requires. Headers are secrets: they move to locked memory, and the buffer is wiped.
 */
#include "outbox/otlp/otlp_config.h"

#include "base/buf.h"
#include "base/format/digits.h"
#include "base/http/authority.h"
#include "base/http/http_fields.h"
#include "json/jenc.h"

#include <strings.h>

const char *const otlp_signal_words[OTLP_SIGNALS] = { "traces", "metrics", "logs" };
static const char *const upper[OTLP_SIGNALS] = { "TRACES", "METRICS", "LOGS" };

struct reading {
	struct otlp_config *c;
	otlp_getenv get;
	otlp_warned warned;
	struct err *e;
};

/* As the specification wants it, an empty variable is none. */
static const char *get(const struct reading *r, const char *name)
{
	const char *value = r->get(name);

	return value && *value ? value : NULL;
}

static void otlp_config_warn(const struct reading *r, const char *name, const char *why)
{
	if (r->warned)
		r->warned(name, why);
}

/* The variable of that signal, else that of all; name: which it was. */
static const char *get_of(const struct reading *r, enum otlp_signal s, const char *what,
			  char name[64])
{
	const char *value;

	snprintf(name, 64, "OTEL_EXPORTER_OTLP_%s_%s", upper[s], what);
	value = get(r, name);
	if (value)
		return value;
	snprintf(name, 64, "OTEL_EXPORTER_OTLP_%s", what);
	return get(r, name);
}

static int otlp_config_refuse(const struct reading *r, const char *name, const char *why)
{
	return err_field(r->e, name, "OTEL_VARIABLE_INVALID", "%s %s", name, why);
}

/* --- numbers ----------------------------------------------------------------------------------------------- */

static void otlp_config_take_number(const struct reading *r, const char *name, unsigned min,
				    unsigned max, unsigned *ret)
{
	const char *value = get(r, name);
	uint64_t n;

	if (!value)
		return;
	if (!u64_parse(slice_of(value), &n) || n < min || n > max)
		otlp_config_warn(r, name, "is no number that it may be");
	else
		*ret = (unsigned)n;
}

static void take_numbers(const struct reading *r)
{
	struct otlp_target *traces = &r->c->to[OTLP_TRACES], *logs = &r->c->to[OTLP_LOGS];
	const struct {
		const char *name;
		unsigned min, max, *ret;
	} numbers[] = {
		{ "OTEL_BSP_SCHEDULE_DELAY", 0, OTLP_DELAY_MAX_MS, &traces->delay_ms },
		{ "OTEL_BSP_MAX_QUEUE_SIZE", 1, OTLP_QUEUE_MAX, &traces->queue_max },
		{ "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 1, OTLP_QUEUE_MAX, &traces->batch_max },
		{ "OTEL_BLRP_SCHEDULE_DELAY", 0, OTLP_DELAY_MAX_MS, &logs->delay_ms },
		{ "OTEL_BLRP_MAX_QUEUE_SIZE", 1, OTLP_QUEUE_MAX, &logs->queue_max },
		{ "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", 1, OTLP_QUEUE_MAX, &logs->batch_max },
		{ "OTEL_METRIC_EXPORT_INTERVAL", 1, OTLP_DELAY_MAX_MS,
		  &r->c->to[OTLP_METRICS].delay_ms },
	};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		otlp_config_take_number(r, numbers[i].name, numbers[i].min, numbers[i].max,
					numbers[i].ret);
}

static void otlp_config_take_timeout(const struct reading *r, enum otlp_signal s)
{
	char name[64];

	if (get_of(r, s, "TIMEOUT", name))
		otlp_config_take_number(r, name, 1, OTLP_DELAY_MAX_MS, &r->c->to[s].timeout_ms);
}

/* --- lists: key=value,key=value, values with %XX -------------------------------------------------------------- */

static bool otlp_config_decode(struct slice s, struct buf *b)
{
	for (size_t i = 0; i < s.n; i++) {
		int high, low;

		if (s.p[i] != '%') {
			buf_putc(b, s.p[i]);
			continue;
		}
		high = i + 1 < s.n ? hex_digit(s.p[i + 1]) : -1;
		low = i + 2 < s.n ? hex_digit(s.p[i + 2]) : -1;
		/* %00 is refused, because a NUL would cut the text off. */
		if (high < 0 || low < 0 || (high == 0 && low == 0))
			return false;
		buf_putc(b, (char)(high << 4 | low));
		i += 2;
	}
	return true;
}

static bool otlp_config_put_pair(struct jw *w, struct slice item)
{
	_cleanup_(buf_done) struct buf key = { 0 }, value = { 0 };
	struct slice name;

	if (!slice_cut(&item, '=', &name) || !otlp_config_decode(slice_trim(name, " \t"), &key) ||
	    !buf_len(&key) || !otlp_config_decode(slice_trim(item, " \t"), &value))
		return false;
	buf_putc(&key, '\0');
	jw_lead_key(w, key.data);
	w->comma = false;
	jw_slice(w, NULL, buf_slice(&value));
	return true;
}

/* A raw object; false: it is no such list. */
static bool otlp_config_put_list(const char *text, struct buf *b)
{
	struct slice rest = slice_of(text), item;
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	while (slice_item(&rest, ',', &item)) {
		item = slice_trim(item, " \t");
		if (item.n && !otlp_config_put_pair(&w, item))
			return false;
	}
	jw_end_obj(&w);
	return b->len <= OTLP_HEADERS_MAX;
}

/* They go into requests as they are. */
static bool are_headers(struct slice object)
{
	jobj_each(key, v, object)
		/* An escape in the JSON stands for a quote, a backslash or a control character. */
		if (!header_name_ok(key) || v.raw.n < 2 || memchr(v.raw.p, '\\', v.raw.n))
			return false;
	return true;
}

static int otlp_config_take_headers(const struct reading *r, enum otlp_signal s)
{
	_cleanup_(secret_buf_done) struct buf b = { 0 };
	char name[64];
	const char *value = get_of(r, s, "HEADERS", name);

	if (!value)
		return 0;
	if (!otlp_config_put_list(value, &b) || !are_headers(buf_slice(&b)))
		return otlp_config_refuse(r, name, "is no list of headers: name=value,name=value");
	r->c->to[s].headers = locked_text_new(buf_slice(&b));
	return 0;
}

static void take_resource(const struct reading *r)
{
	static const char name[] = "OTEL_RESOURCE_ATTRIBUTES";
	_cleanup_(buf_done) struct buf b = { 0 };
	const char *value = get(r, name);

	xstrset(&r->c->service, get(r, "OTEL_SERVICE_NAME"));
	if (!value)
		return;
	if (!otlp_config_put_list(value, &b)) {
		otlp_config_warn(r, name, "is no list of attributes, and is ignored");
		return;
	}
	r->c->attributes = xstrndup(b.data, b.len);
}

/* --- where it goes ----------------------------------------------------------------------------------------- */

static bool otlp_config_take_host(struct otlp_target *to, struct slice rest)
{
	size_t n = strcspn(rest.p, "/?#");
	struct authority a;

	if (!authority_parse((struct slice){ rest.p, n }, 1, &a))
		return false;
	to->host = xstrndup(rest.p, n);
	return true;
}

/* base: the path of the signal follows. */
static int otlp_config_take_url(const struct reading *r, enum otlp_signal s, const char *name,
				const char *value, bool base)
{
	struct otlp_target *to = &r->c->to[s];
	struct slice rest = slice_of(value);
	size_t n = rest.n;

	if (n > OTLP_URL_MAX || !slice_is_visible(rest, "#") ||
	    (!slice_skip(&rest, "http://") && !slice_skip(&rest, "https://")) ||
	    !otlp_config_take_host(to, rest))
		return otlp_config_refuse(r, name, "is no http or https URL");
	if (base && strchr(value, '?'))
		return otlp_config_refuse(
			r, name, "has a query, behind which the path of a signal would stand");
	while (base && value[n - 1] == '/')
		n--;
	if (asprintf(&to->url, base ? "%.*s/v1/%s" : "%.*s", (int)n, value, otlp_signal_words[s]) <
	    0)
		abort();
	return 0;
}

static int take_endpoint(const struct reading *r, enum otlp_signal s)
{
	char name[64];
	const char *value = get_of(r, s, "ENDPOINT", name);
	bool base = strcmp(name, "OTEL_EXPORTER_OTLP_ENDPOINT") == 0;

	/* The default is that of the specification. */
	return otlp_config_take_url(r, s, name, value ? value : "http://localhost:4318", base);
}

static int take_protocol(const struct reading *r, enum otlp_signal s)
{
	char name[64];
	const char *value = get_of(r, s, "PROTOCOL", name);

	if (!value || strcmp(value, "http/protobuf") == 0)
		return 0;
	if (strcmp(value, "grpc") == 0)
		return err_field(r->e, name, "OTEL_PROTOCOL_UNSUPPORTED",
				 "%s: grpc is not spoken; http/protobuf and http/json are", name);
	r->c->to[s].json = strcmp(value, "http/json") == 0;
	if (!r->c->to[s].json)
		otlp_config_warn(r, name, "is no known protocol, and is ignored");
	return 0;
}

static void take_compression(const struct reading *r, enum otlp_signal s)
{
	char name[64];
	const char *value = get_of(r, s, "COMPRESSION", name);

	r->c->to[s].gzip = value && strcmp(value, "gzip") == 0;
	if (value && !r->c->to[s].gzip && strcmp(value, "none") != 0)
		otlp_config_warn(r, name, "is no known compression, and is ignored");
}

/* --- whether it goes --------------------------------------------------------------------------------------- */

static bool has_word(const char *list, const char *word)
{
	struct slice rest = slice_of(list), item;

	while (slice_item(&rest, ',', &item))
		if (slice_is(item, word))
			return true;
	return false;
}

static bool otlp_config_is_wanted(const struct reading *r, enum otlp_signal s)
{
	char exporter[32], endpoint[64];
	const char *value;

	snprintf(exporter, sizeof(exporter), "OTEL_%s_EXPORTER", upper[s]);
	value = get(r, exporter);
	if (!value)
		return get_of(r, s, "ENDPOINT", endpoint);
	if (has_word(value, "otlp"))
		return true;
	if (strcmp(value, "none") != 0 && strcmp(value, "prometheus") != 0)
		otlp_config_warn(r, exporter, "names no exporter that there is: otlp or none");
	return false;
}

static int take_signal(const struct reading *r, enum otlp_signal s)
{
	int result;

	if (!otlp_config_is_wanted(r, s))
		return 0;
	r->c->to[s].on = true;
	result = take_endpoint(r, s);
	if (result == 0)
		result = take_protocol(r, s);
	if (result == 0)
		result = otlp_config_take_headers(r, s);
	take_compression(r, s);
	otlp_config_take_timeout(r, s);
	return result;
}

/* --- which traces ------------------------------------------------------------------------------------------ */

static const struct sampler_row {
	const char *name;
	enum otlp_sampler sampler;
} samplers[] = {
	{ "always_on", SAMPLER_ON },
	{ "always_off", SAMPLER_OFF },
	{ "traceidratio", SAMPLER_RATIO },
};

static void take_ratio(const struct reading *r)
{
	static const char name[] = "OTEL_TRACES_SAMPLER_ARG";
	const char *value = get(r, name);
	char *end = NULL;
	double ratio = value ? strtod(value, &end) : 1;

	/* Written as a negation, so that NaN is refused, too. */
	if (value && (*end || !(ratio >= 0 && ratio <= 1)))
		otlp_config_warn(r, name, "is no number from 0 to 1, and is ignored");
	else
		r->c->ratio = ratio;
}

static void take_sampler(const struct reading *r)
{
	static const char name[] = "OTEL_TRACES_SAMPLER";
	struct slice value = slice_of(get(r, name));
	bool parent_based = slice_skip(&value, "parentbased_");

	for (size_t i = 0; i < ARRAY_SIZE(samplers); i++) {
		if (!slice_is(value, samplers[i].name))
			continue;
		r->c->sampler = samplers[i].sampler;
		r->c->parent_based = parent_based;
		take_ratio(r);
		return;
	}
	if (value.p)
		otlp_config_warn(r, name, "is no known sampler, and is ignored");
}

/* --- all of it --------------------------------------------------------------------------------------------- */

/* As the specification has them. */
static void set_defaults(struct otlp_config *c)
{
	*c = (struct otlp_config){ .parent_based = true, .ratio = 1 };
	for (int s = 0; s < OTLP_SIGNALS; s++)
		c->to[s] = (struct otlp_target){
			.timeout_ms = 10000, .delay_ms = 5000, .queue_max = 2048, .batch_max = 512
		};
	c->to[OTLP_LOGS].delay_ms = 1000;
	c->to[OTLP_METRICS].delay_ms = 60000;
}

int otlp_config_read(struct otlp_config *ret, otlp_getenv getenv_, otlp_warned warned,
		     struct err *e)
{
	struct reading r = { ret, getenv_, warned, e };
	const char *disabled = get(&r, "OTEL_SDK_DISABLED");
	int result = 0;

	set_defaults(ret);
	if (disabled && strcasecmp(disabled, "true") == 0)
		return 0;
	for (int s = 0; s < OTLP_SIGNALS && result == 0; s++)
		result = take_signal(&r, (enum otlp_signal)s);
	if (result < 0) {
		otlp_config_done(ret);
		return result;
	}
	if (!otlp_config_any(ret))
		return 0;
	take_resource(&r);
	take_sampler(&r);
	take_numbers(&r);
	return 0;
}

void otlp_config_done(struct otlp_config *c)
{
	for (int s = 0; s < OTLP_SIGNALS; s++) {
		free_each(c->to[s].url, c->to[s].host);
		locked_text_unref(c->to[s].headers);
	}
	free_each(c->service, c->attributes);
	*c = (struct otlp_config){ .service = NULL };
}

bool otlp_config_any(const struct otlp_config *c)
{
	for (int s = 0; s < OTLP_SIGNALS; s++)
		if (c->to[s].on)
			return true;
	return false;
}
