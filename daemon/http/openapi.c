#include "http/openapi.h"

#include "harnesses/adapter.h"

EMBED(openapi_text, "daemon/api/openapi.json");
