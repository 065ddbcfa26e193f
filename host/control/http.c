// SPDX-License-Identifier: GPL-2.0
/*
 * http.c - see http.h. HTTP/1.0 and 1.1, as far as a collector of metrics needs it: one request of
 * a connection, no bodies, no other methods. An answer of HTTP/1.1 is chunked, so that its reader
 * sees when the recorder has ended in the middle of it.
 */
#define _GNU_SOURCE
#include "control/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/server.h"
#include "base/socket.h"
#include "control/serve_metrics.h"
#include "control/serve_status.h"

/* ------------------------------------------------------------------ addresses */

static bool parse_port(const char *text, in_port_t *port)
{
	unsigned long n;
	char *end;

	if (*text < '0' || *text > '9' || strlen(text) > 5)
		return false;
	n = strtoul(text, &end, 10);
	*port = htons((in_port_t)n);
	return !*end && n <= 65535;
}

static bool is_loopback(const union xvt_http_address *a)
{
	if (a->any.sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
	return ntohl(a->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

/* Parses the address before the port, with or without brackets. */
static bool parse_address(const char *text, size_t len, union xvt_http_address *a)
{
	char host[XVT_HTTP_TEXT];

	if (len >= sizeof(host))
		return false;
	snprintf(host, sizeof(host), "%.*s", (int)len, text);
	if (host[0] != '[')
		return inet_pton(AF_INET, host, &a->v4.sin_addr) == 1;
	if (len < 2 || host[len - 1] != ']')
		return false;
	host[len - 1] = 0;
	a->v6.sin6_family = AF_INET6;
	return inet_pton(AF_INET6, host + 1, &a->v6.sin6_addr) == 1;
}

const char *xvt_http_parse(const char *text, union xvt_http_address *a)
{
	const char *colon = strrchr(text, ':');
	in_port_t port = 0;

	memset(a, 0, sizeof(*a));
	a->v4.sin_family = AF_INET;
	a->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (colon && !parse_address(text, (size_t)(colon - text), a))
		return "an address is given as a number: 127.0.0.1:PORT or [::1]:PORT";
	if (!parse_port(colon ? colon + 1 : text, &port))
		return "not a port; give [ADDRESS:]PORT, like 9750 or 127.0.0.1:9750";
	if (!is_loopback(a))
		return "not an address of this host alone; metrics are served at 127.0.0.1 or "
		       "[::1], and a proxy in front of it can serve them to others";
	if (a->any.sa_family == AF_INET6)
		a->v6.sin6_port = port;
	else
		a->v4.sin_port = port;
	return NULL;
}

static socklen_t size_of(const union xvt_http_address *a)
{
	return a->any.sa_family == AF_INET6 ? sizeof(a->v6) : sizeof(a->v4);
}

void xvt_http_where(const struct xvt_server *server, char text[XVT_HTTP_TEXT])
{
	union xvt_http_address a = { .any.sa_family = AF_UNSPEC };
	socklen_t len = sizeof(a);
	char host[INET6_ADDRSTRLEN] = "?";

	getsockname(xvt_server_listener(server)->fd, &a.any, &len);
	if (a.any.sa_family == AF_INET6)
		snprintf(text, XVT_HTTP_TEXT, "[%s]:%u",
			 inet_ntop(AF_INET6, &a.v6.sin6_addr, host, sizeof(host)),
			 ntohs(a.v6.sin6_port));
	else
		snprintf(text, XVT_HTTP_TEXT, "%s:%u",
			 inet_ntop(AF_INET, &a.v4.sin_addr, host, sizeof(host)),
			 ntohs(a.v4.sin_port));
}

/* ------------------------------------------------------------------ requests */

/* A request ends at its first empty line. */
static bool is_whole(const char *text)
{
	return strstr(text, "\r\n\r\n") || strstr(text, "\n\n");
}

static bool ends_in(const char *line, size_t len, const char *end)
{
	return len >= strlen(end) && !memcmp(line + len - strlen(end), end, strlen(end));
}

static bool is_http_1_1(const char *request)
{
	return ends_in(request, strcspn(request, "\r\n"), " HTTP/1.1");
}

/* Returns whether a host, of `len` bytes, is this one by a name that no other can have: by a name
 * of its own a web page would read the metrics through a browser here (DNS rebinding). */
static bool is_this_host(const char *host, size_t len)
{
	static const char name[] = "localhost";
	const char *port = memrchr(host, ':', len);
	union xvt_http_address a = { .v4.sin_family = AF_INET };

	if (port && !memchr(port, ']', len - (size_t)(port - host)))
		len = (size_t)(port - host);
	if (len == sizeof(name) - 1 && !strncasecmp(host, name, len))
		return true;
	return parse_address(host, len, &a) && is_loopback(&a);
}

/* Returns whether no header names another host. */
static bool hosts_are_this(const char *request)
{
	const char *line = request;

	while ((line = strchr(line, '\n'))) {
		line++;
		if (strncasecmp(line, "Host:", strlen("Host:")) != 0)
			continue;
		line += strlen("Host:");
		line += strspn(line, " \t");
		if (!is_this_host(line, strcspn(line, " \t\r\n")))
			return false;
	}
	return true;
}

/* Returns the status of a request: "200 OK", or what is wrong with it. */
static const char *status_of(const char *request)
{
	const size_t line = strcspn(request, "\r\n");
	const char *path = memchr(request, ' ', line);
	size_t len;

	if (!path || (!is_http_1_1(request) && !ends_in(request, line, " HTTP/1.0")))
		return "400 Bad Request";
	path++;
	len = strcspn(path, " ?\r\n");
	/* The path is empty: this space stands before the version. */
	if (path == request + line - strlen("HTTP/1.1"))
		return "400 Bad Request";
	if (!hosts_are_this(request))
		return "421 Misdirected Request";
	if (strncmp(request, "GET ", strlen("GET ")) != 0)
		return "405 Method Not Allowed";
	return len == strlen("/metrics") && !memcmp(path, "/metrics", len) ? "200 OK"
									   : "404 Not Found";
}

/* ------------------------------------------------------------------ answers */

#define HEADERS(type)                 \
	"Content-Type: " type "\r\n"  \
	"Connection: close\r\n"       \
	"Cache-Control: no-store\r\n" \
	"X-Content-Type-Options: nosniff\r\n"

static char *text_of(int printed, char *text, size_t *len)
{
	*len = printed < 0 ? 0 : (size_t)printed;
	return printed < 0 ? NULL : text;
}

/* The whole answer to a request that is refused. */
static char *refusal(const char *status, size_t *len)
{
	char *text;
	const int n = asprintf(&text,
			       "HTTP/1.1 %s\r\n" HEADERS(
				       "text/plain; charset=utf-8") "Allow: GET\r\nContent-Length: "
								    "%zu\r\n\r\n%s: GET /metrics\n",
			       status, strlen(status) + strlen(": GET /metrics\n"), status);

	return text_of(n, text, len);
}

static char *head(bool chunked, size_t *len)
{
	char *text;
	const int n = asprintf(
		&text,
		"HTTP/1.1 200 OK\r\n" HEADERS("text/plain; version=0.0.4; charset=utf-8") "%s\r\n",
		chunked ? "Transfer-Encoding: chunked\r\n" : "");

	return text_of(n, text, len);
}

/* The next piece of the metrics. */
static char *body(const struct xvt_serve *s, struct xvt_server_at *at, bool chunked, size_t *len)
{
	const char *piece;
	char *text = NULL;
	int n = 0;

	switch (xvt_serve_metrics(s, at, &piece)) {
	case XVT_METRICS_NOT_YET:
		*len = 0;
		return calloc(1, 1);
	case XVT_METRICS_PIECE:
		n = chunked ? asprintf(&text, "%zx\r\n%s\r\n", strlen(piece), piece)
			    : asprintf(&text, "%s", piece);
		break;
	case XVT_METRICS_END:
		at->cursor = XVT_SERVE_COMPLETE;
		if (!chunked)
			return NULL;
		n = asprintf(&text, "0\r\n\r\n");
		break;
	case XVT_METRICS_FAILED: /* the reader of a chunked answer sees that its end is missing */
		return NULL;
	}
	return text_of(n, text, len);
}

static char *answer(void *arg, const char *request, struct xvt_server_at *at, size_t *len)
{
	const bool chunked = is_http_1_1(request);
	const char *status;

	if (at->cursor == XVT_SERVE_COMPLETE)
		return NULL;
	if (at->more)
		return body(arg, at, chunked, len);
	status = status_of(request);
	if (strcmp(status, "200 OK") == 0)
		return xvt_serve_metrics_begin(at) ? head(chunked, len) : NULL;
	at->cursor = XVT_SERVE_COMPLETE;
	return refusal(status, len);
}

int xvt_http_open(struct xvt_server **out, struct xvt_loop *loop,
		  const union xvt_http_address *address, const struct xvt_serve *s,
		  struct xvt_error *why)
{
	static const struct xvt_server_ops ops = { .whole = is_whole, .answer = answer };
	/* Users of network sockets are not known. */
	static const struct xvt_server_limits limits = { .clients = XVT_HTTP_CLIENTS,
							 .guests = XVT_HTTP_CLIENTS,
							 .idle_tends = XVT_HTTP_IDLE_TENDS };
	struct xvt_listener listener;
	int err = xvt_socket_listen_tcp(&listener, &address->any, size_of(address), why);

	if (err)
		return err;
	*out = xvt_server_new(loop, &listener, &limits, &ops, (void *)s);
	if (*out)
		return 0;
	return xvt_fail(why, -ENOMEM, "%s", strerror(ENOMEM));
}
