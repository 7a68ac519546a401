/*
 * otlp_config.h - where telemetry goes, by the variables that OpenTelemetry's SDKs read.
 *
 * A signal is exported if an endpoint is named for it or for all, or if OTEL_{TRACES,METRICS,LOGS}_EXPORTER names otlp; then
 * what is not said is as the specification has it. What cannot be meant as it stands and would send nothing, or to the wrong
 * place, is an error; of other bad values the specification wants that they are reported and ignored: warned.
 *
 * Headers hold secrets: they are in locked memory, and in nothing that is printed.
 */
#pragma once

#include "base/err.h"
#include "base/limits.h"
#include "base/os/locked.h"

enum otlp_signal { OTLP_TRACES, OTLP_METRICS, OTLP_LOGS, OTLP_SIGNALS };
extern const char *const otlp_signal_words[OTLP_SIGNALS]; /* "traces", … */

struct otlp_target {
	bool on;
	char *url, *host;	     /* host: for the log */
	struct locked_text *headers; /* raw JSON object of strings; NULL: none */
	bool json, gzip;
	unsigned timeout_ms;
	unsigned delay_ms, queue_max, batch_max; /* delay of metrics: their interval */
};

enum otlp_sampler { SAMPLER_ON, SAMPLER_OFF, SAMPLER_RATIO };

struct otlp_config {
	struct otlp_target to[OTLP_SIGNALS];
	char *service;	  /* NULL: acpd */
	char *attributes; /* raw JSON object of strings, or NULL */
	enum otlp_sampler sampler;
	bool parent_based;
	double ratio;
};

/* get: getenv, or what stands in its place. warned (may be NULL): what is reported and ignored. -EINVAL with e:
 * OTEL_VARIABLE_INVALID, OTEL_PROTOCOL_UNSUPPORTED, field: the variable. */
typedef const char *(*otlp_getenv)(const char *name);
typedef void (*otlp_warned)(const char *variable, const char *why);
int otlp_config_read(struct otlp_config *ret, otlp_getenv get, otlp_warned warned, struct err *e);
void otlp_config_done(struct otlp_config *c);
bool otlp_config_any(const struct otlp_config *c);
