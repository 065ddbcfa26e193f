/* SPDX-License-Identifier: GPL-2.0 */
/* http.h - a recorder's metrics by HTTP, for programs of this host: GET /metrics. */
#ifndef XVT_HTTP_H
#define XVT_HTTP_H

#include "base/error.h"

#include <netinet/in.h>
#include <stddef.h>

struct xvt_loop;
struct xvt_serve;
struct xvt_server;

#define XVT_HTTP_CLIENTS    8u /* at a time */
#define XVT_HTTP_IDLE_TENDS 5u /* seconds for a request, and for each piece of an answer */

union xvt_http_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

#define XVT_HTTP_TEXT 64u /* "[ADDRESS]:PORT" */

/* Parses "[ADDRESS:]PORT"; without ADDRESS it is 127.0.0.1. Returns NULL, or what is wrong. */
const char *xvt_http_parse(const char *text, union xvt_http_address *address);

/* Listens there; port 0: at one that is free. `s`: whose metrics. Returns 0, or -errno with the
 * reason in `why`. */
int xvt_http_open(struct xvt_server **out, struct xvt_loop *loop,
		  const union xvt_http_address *address, const struct xvt_serve *s,
		  struct xvt_error *why);

/* Writes where it listens, as xvt_http_parse() reads it. */
void xvt_http_where(const struct xvt_server *server, char text[XVT_HTTP_TEXT]);

#endif /* XVT_HTTP_H */
