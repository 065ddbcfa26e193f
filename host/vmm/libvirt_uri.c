// SPDX-License-Identifier: GPL-2.0
/* libvirt_uri.c - see libvirt_uri.h. */
#include "vmm/libvirt_uri.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE 1024

/* Returns whether the transport of `uri` ("+NAME:") begins so. */
static bool goes_by(const char *uri, const char *transport)
{
	const char *colon = strchr(uri, ':'), *plus = strchr(uri, '+');

	return plus && colon && plus < colon && !strncmp(plus + 1, transport, strlen(transport));
}

static enum xvt_libvirt_way way_of(const char *uri)
{
	const char *host = strstr(uri, "://");

	if (goes_by(uri, "ssh:") || goes_by(uri, "ext:"))
		return XVT_LIBVIRT_BY_PROGRAM;
	if (goes_by(uri, "tcp:") || goes_by(uri, "tls:") || goes_by(uri, "libssh"))
		return XVT_LIBVIRT_BY_NETWORK;
	if (host && host[3] && host[3] != '/' && !goes_by(uri, "unix:"))
		return XVT_LIBVIRT_BY_NETWORK;
	return XVT_LIBVIRT_BY_SOCKET;
}

/* Reads `uri_default = "URI"` of a configuration of libvirt. Returns whether it has that line. */
static bool configured(const char *path, char uri[XVT_LIBVIRT_URI_LEN])
{
	FILE *f = fopen(path, "re");
	bool found = false;
	char line[LINE];

	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, " uri_default = \"%1023[^\"]", uri) == 1;
	if (f)
		fclose(f);
	return found;
}

const char *xvt_libvirt_uri(const char *uri, char room[XVT_LIBVIRT_URI_LEN])
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char path[LINE];

	if (!uri || !*uri)
		uri = getenv("LIBVIRT_DEFAULT_URI");
	if (uri && *uri)
		return uri;
	if (config)
		snprintf(path, sizeof(path), "%s/libvirt/libvirt.conf", config);
	else
		snprintf(path, sizeof(path), "%s/.config/libvirt/libvirt.conf", home ? home : "");
	if (!configured(path, room) && !configured("/etc/libvirt/libvirt.conf", room))
		room[0] = '\0';
	return room;
}

enum xvt_libvirt_way xvt_libvirt_way(const char *uri)
{
	char room[XVT_LIBVIRT_URI_LEN];

	return way_of(xvt_libvirt_uri(uri, room));
}
