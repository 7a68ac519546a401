/* wiping_memory.h - the memory that libcurl works in: what it frees is wiped, because it has held keys. */
#pragma once

#include <curl/curl.h>

/* curl_global_init, with that memory. */
CURLcode wiping_memory_init(void);
