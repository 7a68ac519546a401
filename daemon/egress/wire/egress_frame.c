/*
 * egress_frame.c - encodes and decodes the payloads between the daemon and acpd-proxy as JSON
 * objects.
 *
 * Both ends use this code, so decoding is strict: a missing or unknown member is -EPROTO and ends
 * the run. The daemon does not trust a notice, because acpd-proxy copies hosts from the sandbox: a
 * host must be visible ASCII, a reason must exist. A counter is at most 2^53, which every reader of
 * JSON holds exactly.
 */
#include "egress/wire/egress_frame.h"

#include "base/util.h"
#include "json/json.h"

/* Each object is one of ours: a member that is missing, or one too many, is a mistake of the other side. */
static int egress_frame_parse(struct slice payload, const struct jfield *fields, void *ret)
{
	struct jval v;

	if (jscan_value(payload, &v) != JSCAN_OK || v.type != J_OBJECT)
		return -EPROTO;
	return jdec_strict(payload, fields, NULL, "no such member", ret, NULL) < 0 ? -EPROTO : 0;
}

#define TEXT_MAX (64 * KIB)

static const struct jfield settings_fields[] = {
	JF_STR(struct egress_settings, allow, "allow", 0, TEXT_MAX),
	JF_STR(struct egress_settings, resolvers, "resolvers", 0, TEXT_MAX),
	JF_END,
};

void egress_settings_put(struct buf *b, const struct egress_settings *s)
{
	struct jw w = JW(b);

	jw_object(&w, NULL, JW_STR("allow", s->allow), JW_STR("resolvers", s->resolvers));
}

int egress_settings_parse(struct slice payload, struct egress_settings *ret)
{
	*ret = (struct egress_settings){ 0 };
	return egress_frame_parse(payload, settings_fields, ret);
}

void egress_settings_done(struct egress_settings *s)
{
	jdec_free(settings_fields, s);
}

struct order_args {
	int64_t uid;
	struct slice rules;
};

static const struct jfield order_fields[] = {
	JF_INT(struct order_args, uid, "uid", JF_REQUIRED, -1, UINT32_MAX),
	JF_OBJ(struct order_args, rules, "rules", JF_REQUIRED),
	JF_END,
};

void egress_order_put(struct buf *b, int64_t uid, const struct egress_rules *rules)
{
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_int(&w, "uid", uid);
	egress_rules_put(rules, &w, "rules");
	jw_end_obj(&w);
}

int egress_order_parse(struct slice payload, struct egress_order *ret)
{
	struct order_args a = { 0 };

	if (egress_frame_parse(payload, order_fields, &a) < 0)
		return -EPROTO;
	/* order_args owns nothing: its rules are a part of the payload. */
	*ret = (struct egress_order){ .uid = a.uid };
	return egress_rules_parse(a.rules, "rules", &ret->rules, NULL) < 0 ? -EPROTO : 0;
}

struct notice_args {
	char *host, *reason;
	int64_t port, up, down;
};

#define COUNT_MAX 9007199254740992 /* 2 to the 53rd: what every reader of JSON can hold */

static const struct jfield notice_fields[] = {
	JF_STR(struct notice_args, host, "host", JF_REQUIRED | JF_FILLED, 255),
	JF_STR(struct notice_args, reason, "reason", 0, 64),
	JF_INT(struct notice_args, port, "port", 0, 1, 65535),
	JF_INT(struct notice_args, up, "up", 0, 0, COUNT_MAX),
	JF_INT(struct notice_args, down, "down", 0, 0, COUNT_MAX),
	JF_END,
};

void egress_notice_put(struct buf *b, const struct egress_notice *n)
{
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_str(&w, "host", n->host);
	jw_str(&w, "reason", egress_reasons[n->reason].name);
	if (n->port)
		jw_int(&w, "port", n->port);
	if (n->up)
		jw_int(&w, "up", n->up);
	if (n->down)
		jw_int(&w, "down", n->down);
	jw_end_obj(&w);
}

int egress_notice_parse(struct slice payload, struct egress_notice *ret)
{
	struct notice_args a = { 0 };
	int r = egress_frame_parse(payload, notice_fields, &a);

	*ret = (struct egress_notice){ .port = (int)a.port, .up = a.up, .down = a.down };
	if (r == 0 && a.reason)
		ret->reason = egress_reason_find(slice_of(a.reason));
	if (r == 0 && (!slice_is_visible(slice_of(a.host), "") || (a.reason && !ret->reason)))
		r = -EPROTO;
	if (r == 0)
		snprintf(ret->host, sizeof(ret->host), "%s", a.host);
	jdec_free(notice_fields, &a);
	return r;
}
