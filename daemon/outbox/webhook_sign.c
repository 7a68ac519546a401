#include "outbox/webhook_sign.h"

#include "digest/base64.h"
#include "digest/digest.h"
#include "json/jenc.h"
#include "json/jself.h"

#include <errno.h>
#include <stdio.h>

static void put_signed(struct buf *b, const struct webhook_message *m)
{
	buf_printf(b, "%s.%llu.", m->id, (unsigned long long)m->time_secs);
	buf_add_slice(b, m->body);
}

static int put_signatures(struct buf *b, const struct webhook *w, const struct webhook_message *m)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	int r = 0;

	put_signed(&text, m);
	for (size_t i = 0; r == 0 && i < w->nsecrets; i++) {
		struct sha256 d;

		hmac_sha256(locked_text_slice(w->secrets[i]), buf_slice(&text), &d);
		buf_puts(b, i ? " v1," : "v1,");
		r = base64_encode((struct slice){ (const char *)d.bytes, sizeof(d.bytes) }, b);
	}
	return text.failed || b->failed ? -ENOMEM : r;
}

int webhook_headers_put(struct buf *b, const struct webhook *w, const struct webhook_message *m)
{
	_cleanup_(buf_done) struct buf signatures = { 0 };
	struct jw out = JW(b);
	char secs[24];
	int r = put_signatures(&signatures, w, m);

	if (r < 0)
		return r;
	snprintf(secs, sizeof(secs), "%llu", (unsigned long long)m->time_secs);
	jw_obj(&out, NULL);
	jw_str(&out, "content-type", "application/json");
	jw_user_agent(&out);
	jw_str(&out, "webhook-id", m->id);
	jw_str(&out, "webhook-timestamp", secs);
	jw_slice(&out, "webhook-signature", buf_slice(&signatures));
	jw_end_obj(&out);
	return b->failed ? -ENOMEM : 0;
}
