/* acpd-fetch: makes the daemon's requests to other machines. */
#include <curl/curl.h>
#include <stdio.h>

int main(void)
{
	fprintf(stderr, "acpd-fetch: %s\n", curl_version());
	return 2;
}
