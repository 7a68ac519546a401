#include "http/openapi.h"

#include "harnesses/embed.h"

EMBED(openapi_text, "daemon/api/openapi.json");
