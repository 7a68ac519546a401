/*
 * openapi.h - the description of the HTTP routes and of what is private to acpd in ACP: an OpenAPI 3.1 document, made by
 * make api from daemon/api/ and part of the program. The same for every daemon of this build; it holds no state.
 */
#pragma once

extern const char openapi_text[];
