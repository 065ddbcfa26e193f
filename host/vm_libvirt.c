// SPDX-License-Identifier: GPL-2.0
/*
 * vm_libvirt.c - the only file that includes libvirt (and libxml2, which reads the XML that
 * libvirt describes a domain with). Knows domains; does not know what a region holds.
 */
#include "vm_libvirt.h"

#include <errno.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <libxml/parser.h>
#include <libxml/xpath.h>
#include <stdio.h>
#include <string.h>

#define DEVICE_PREFIX "xvtrace-"
/* Where QEMU puts what <shmem> describes; the object is named after the device. */
#define SHM_DIR	      "/dev/shm/"

static void quiet(void *data, virErrorPtr err)
{
	(void)data;
	(void)err;
}

static const char *last_message(void)
{
	virErrorPtr err = virGetLastError();

	return err && err->message ? err->message : "no reason given";
}

/* Name of the first <shmem> device with our prefix. */
static int shmem_name(const char *xml, char *name, size_t size)
{
	xmlDocPtr doc = xmlReadMemory(xml, (int)strlen(xml), "domain.xml", NULL,
				      XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
	xmlXPathContextPtr context = doc ? xmlXPathNewContext(doc) : NULL;
	xmlXPathObjectPtr found = NULL;
	int err = -ENODEV;

	if (context)
		found = xmlXPathEvalExpression(
			BAD_CAST "string(/domain/devices/shmem[starts-with(@name,'" DEVICE_PREFIX
				 "')][1]/@name)",
			context);
	if (found && found->stringval && found->stringval[0] &&
	    !strchr((const char *)found->stringval, '/')) {
		snprintf(name, size, "%s", (const char *)found->stringval);
		err = 0;
	}
	xmlXPathFreeObject(found);
	xmlXPathFreeContext(context);
	xmlFreeDoc(doc);
	return err;
}

int xvt_libvirt_find(const char *uri, const char *name, struct xvt_domain *domain, char *why,
		     size_t why_size)
{
	virConnectPtr conn;
	virDomainPtr dom;
	char shm[256];
	char *xml;
	int err;

	memset(domain, 0, sizeof(*domain));
	virSetErrorFunc(NULL, quiet);
	conn = virConnectOpen(uri);
	if (!conn) {
		snprintf(why, why_size, "cannot connect to libvirt: %s", last_message());
		return -ECONNREFUSED;
	}
	dom = virDomainLookupByName(conn, name);
	if (!dom) {
		snprintf(why, why_size, "libvirt knows no domain of this name (see virsh list)");
		err = -ENOENT;
		goto out_conn;
	}
	if (virDomainIsActive(dom) != 1) {
		snprintf(why, why_size, "the domain does not run (virsh start %s)", name);
		err = -ESRCH;
		goto out_dom;
	}
	xml = virDomainGetXMLDesc(dom, 0);
	if (!xml) {
		snprintf(why, why_size, "cannot read its XML: %s", last_message());
		err = -EIO;
		goto out_dom;
	}
	err = shmem_name(xml, shm, sizeof(shm));
	free(xml);
	if (err) {
		snprintf(why, why_size,
			 "it has no <shmem name='" DEVICE_PREFIX
			 "...'> device; add one of model ivshmem-plain");
		goto out_dom;
	}
	snprintf(domain->name, sizeof(domain->name), "%s", name);
	virDomainGetUUID(dom, domain->uuid);
	snprintf(domain->region, sizeof(domain->region), SHM_DIR "%s", shm);
out_dom:
	virDomainFree(dom);
out_conn:
	virConnectClose(conn);
	return err;
}

int xvt_libvirt_version(char *text, size_t size)
{
	unsigned long version;

	if (virGetVersion(&version, NULL, NULL))
		return -ENOENT;
	snprintf(text, size, "%lu.%lu.%lu", version / 1000000, version / 1000 % 1000,
		 version % 1000);
	return 0;
}

int xvt_libvirt_reach(const char *uri, char *why, size_t why_size)
{
	virConnectPtr conn;

	virSetErrorFunc(NULL, quiet);
	conn = virConnectOpen(uri);
	if (!conn) {
		snprintf(why, why_size, "%s", last_message());
		return -ECONNREFUSED;
	}
	virConnectClose(conn);
	return 0;
}
