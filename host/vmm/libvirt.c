// SPDX-License-Identifier: GPL-2.0
/*
 * libvirt.c - the only file that includes libvirt, and libxml2 for the XML of a domain. This file
 * deals with domains, not with the contents of a region.
 */
#define _GNU_SOURCE
#include "vmm/libvirt.h"

#include <dlfcn.h>
#include <errno.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <libxml/parser.h>
#include <libxml/xpath.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/container.h"
#include "base/library.h"
#include "base/loop.h"
#include "base/region.h"
#include "base/time.h"
#include "base/vec.h"
#include "vmm/processes.h"

#define DEVICE_PREFIX "xvtrace-"

/* ------------------------------------------------------------------ loading the libraries */

/*
 * libvirt maps some fifty libraries into a process. Most commands and recordings do not need them,
 * so the program is not linked with it: the first use loads it. The compiler checks each call by
 * the library's own header.
 */
#define VIR_FUNCTIONS(F)                   \
	F(ConnectClose)                    \
	F(ConnectDomainEventDeregisterAny) \
	F(ConnectDomainEventRegisterAny)   \
	F(ConnectListAllDomains)           \
	F(ConnectOpen)                     \
	F(ConnectOpenReadOnly)             \
	F(ConnectRegisterCloseCallback)    \
	F(ConnectSetKeepAlive)             \
	F(ConnectUnregisterCloseCallback)  \
	F(DomainAttachDeviceFlags)         \
	F(DomainDetachDeviceFlags)         \
	F(DomainFree)                      \
	F(DomainGetName)                   \
	F(DomainGetState)                  \
	F(DomainGetUUID)                   \
	F(DomainGetVcpusFlags)             \
	F(DomainGetXMLDesc)                \
	F(DomainIsActive)                  \
	F(DomainIsPersistent)              \
	F(DomainLookupByName)              \
	F(DomainLookupByUUID)              \
	F(DomainLookupByUUIDString)        \
	F(EventRegisterImpl)               \
	F(GetLastError)                    \
	F(GetVersion)                      \
	F(SetErrorFunc)
#define XML_FUNCTIONS(F)       \
	F(BufferContent)       \
	F(BufferCreate)        \
	F(BufferFree)          \
	F(FreeDoc)             \
	F(NodeDump)            \
	F(ReadMemory)          \
	F(XPathEvalExpression) \
	F(XPathFreeContext)    \
	F(XPathFreeObject)     \
	F(XPathNewContext)

#define VIR_POINTER(name) __typeof__(&vir##name) name;
#define XML_POINTER(name) __typeof__(&xml##name) name;
static struct {
	VIR_FUNCTIONS(VIR_POINTER)
} vir;
static struct {
	XML_FUNCTIONS(XML_POINTER)
} xml;

#define VIR_SYMBOL(name) { "vir" #name, &vir.name },
#define XML_SYMBOL(name) { "xml" #name, &xml.name },
static const struct xvt_symbol vir_symbols[] = { VIR_FUNCTIONS(VIR_SYMBOL){ NULL, NULL } };
static const struct xvt_symbol xml_symbols[] = { XML_FUNCTIONS(XML_SYMBOL){ NULL, NULL } };

/* The Makefile takes the names from the libraries that the headers belong to. */
#define VIR_SONAME XVT_TEXT_OF(XVT_LIBVIRT_SONAME)
#define XML_SONAME XVT_TEXT_OF(XVT_LIBXML_SONAME)
_Static_assert(sizeof(VIR_SONAME) > 1 && sizeof(XML_SONAME) > 1, "sonames were not found");

#define TO_INSTALL "install it (Debian: libvirt0), or name its region by -r"

static int load_library(const char *soname, const struct xvt_symbol *symbols, struct xvt_error *why)
{
	const char *missing;
	int err = xvt_library_load(soname, symbols, &missing);

	if (err == -ENOSYS)
		xvt_fail(why, 0, "%s has no %s() and is too old; " TO_INSTALL, soname, missing);
	else if (err)
		xvt_fail(why, 0, "libvirt cannot be loaded: %s; " TO_INSTALL, dlerror());
	return err ? -ENOPKG : 0;
}

/* Loads both libraries, once. Returns 0, or -ENOPKG with the reason in `why`. */
static int load(struct xvt_error *why)
{
	static bool loaded;
	int err;

	if (loaded)
		return 0;
	err = load_library(VIR_SONAME, vir_symbols, why);
	if (!err)
		err = load_library(XML_SONAME, xml_symbols, why);
	loaded = !err;
	return err;
}

/* ------------------------------------------------------------------ domains and their regions */

static void quiet(void *data, virErrorPtr err)
{
	(void)data;
	(void)err;
}

static const char *last_message(void)
{
	virErrorPtr err = vir.GetLastError();

	return err && err->message ? err->message : "no reason given";
}

#define OUR_SHMEM "/domain/devices/shmem[starts-with(@name,'" DEVICE_PREFIX "')][1]"

static xmlDocPtr parse_domain(const char *text)
{
	return xml.ReadMemory(text, (int)strlen(text), "domain.xml", NULL,
			      XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
}

/* Copy the string that an XPath expression finds in the XML of a domain; empty: none. */
static void find_text(const char *text, const char *expression, char *found, size_t size)
{
	xmlDocPtr doc = parse_domain(text);
	xmlXPathContextPtr context = doc ? xml.XPathNewContext(doc) : NULL;
	xmlXPathObjectPtr object = NULL;

	if (context)
		object = xml.XPathEvalExpression(BAD_CAST expression, context);
	snprintf(found, size, "%s",
		 object && object->stringval ? (const char *)object->stringval : "");
	xml.XPathFreeObject(object);
	xml.XPathFreeContext(context);
	xml.FreeDoc(doc);
}

/* Copy the name of the first <shmem> device with our prefix. Returns 0 or -ENODEV. */
static int shmem_name(const char *text, char *name, size_t size)
{
	find_text(text, "string(" OUR_SHMEM "/@name)", name, size);
	return name[0] && !strchr(name, '/') ? 0 : -ENODEV;
}

/* The user as which libvirt runs the QEMU of a running domain: of its label "+UID:+GID". */
static uid_t user_of(const char *text)
{
	char label[256], *end;
	unsigned long user;

	find_text(text, "string(/domain/seclabel[@model='dac']/label)", label, sizeof(label));
	if (label[0] != '+')
		return (uid_t)-1;
	user = strtoul(label + 1, &end, 10);
	return end > label + 1 && *end == ':' ? (uid_t)user : (uid_t)-1;
}

/* Returns the XML of that device, malloc()ed, or NULL: there is none. */
static char *shmem_xml(const char *text)
{
	xmlDocPtr doc = parse_domain(text);
	xmlXPathContextPtr context = doc ? xml.XPathNewContext(doc) : NULL;
	xmlXPathObjectPtr found = NULL;
	xmlBufferPtr buffer = xml.BufferCreate();
	char *device = NULL;

	if (context)
		found = xml.XPathEvalExpression(BAD_CAST OUR_SHMEM, context);
	if (buffer && found && found->nodesetval && found->nodesetval->nodeNr == 1 &&
	    xml.NodeDump(buffer, doc, found->nodesetval->nodeTab[0], 0, 0) > 0)
		device = strdup((const char *)xml.BufferContent(buffer));
	xml.BufferFree(buffer);
	xml.XPathFreeObject(found);
	xml.XPathFreeContext(context);
	xml.FreeDoc(doc);
	return device;
}

/* QEMU makes the file of a <shmem> device under the device's name. */
static void set_region(struct xvt_domain *domain, const char *shmem)
{
	snprintf(domain->region, sizeof(domain->region), "%s/%s", xvt_host_region_dir(), shmem);
}

/* Describe a domain. Returns 0; -ENODEV: no device, and `region` is empty; -EIO. */
static int describe(virDomainPtr dom, struct xvt_domain *domain, struct xvt_error *why)
{
	const char *name = vir.DomainGetName(dom);
	char *text = vir.DomainGetXMLDesc(dom, 0);
	char shm[256], model[64], panics[8];
	int err, vcpus;

	memset(domain, 0, sizeof(*domain));
	if (!name || !text) {
		xvt_fail(why, 0, "cannot read its XML: %s", last_message());
		free(text);
		return -EIO;
	}
	snprintf(domain->name, sizeof(domain->name), "%s", name);
	vir.DomainGetUUID(dom, domain->uuid);
	vcpus = vir.DomainGetVcpusFlags(dom, VIR_DOMAIN_VCPU_MAXIMUM);
	domain->vcpus = vcpus > 0 ? (uint32_t)vcpus : 0;
	domain->user = user_of(text);
	find_text(text, "string(" OUR_SHMEM "/model/@type)", model, sizeof(model));
	domain->doorbell = !strcmp(model, "ivshmem-doorbell");
	if (domain->doorbell)
		find_text(text, "string(" OUR_SHMEM "/server/@path)", domain->server,
			  sizeof(domain->server));
	find_text(text, "string(boolean(/domain/devices/panic))", panics, sizeof(panics));
	domain->panics = !strcmp(panics, "true");
	err = shmem_name(text, shm, sizeof(shm));
	free(text);
	if (err)
		xvt_fail(why, 0,
			 "it has no <shmem name='" DEVICE_PREFIX
			 "...'> device; add one of model ivshmem-plain");
	else
		set_region(domain, shm);
	return err;
}

struct source;

/* A single one, because libvirt registers its event handlers for the process. */
static struct {
	bool registered;
	unsigned int listeners;
	struct xvt_loop *loop; /* NULL while there are no listeners */
	struct source *sources;
	int last_id;
	/* A daemon did not answer a call, or the process ends: the connections that are closed next
	 * are left to its end, as each would wait for its own answer. */
	bool hangs;
} events;

/* ------------------------------------------------------------------ a daemon that does not answer
 */

#define ANSWER_SECONDS	10u
#define CHILD_MS	(1500u * ANSWER_SECONDS) /* for the end of a child that asks */
/* A call of a connection with a loop, whose daemon has stopped, fails after PINGS + 1 intervals. */
#define PING_SECONDS	2
#define PINGS		2u
/* An answer counts for this long. */
#define ANSWERED_NS	1000000000ull
#define DOES_NOT_ANSWER "libvirt's daemon does not answer"

/* In a child process: it must not touch the loop, which it shares with its parent. */
static void ask_and_exit(const char *uri)
{
	virConnectPtr conn;

	events.loop = NULL;
	signal(SIGALRM, SIG_DFL);
	alarm(ANSWER_SECONDS);
	conn = vir.ConnectOpenReadOnly(uri);
	_exit(!conn);
}

/* Opening a connection waits for ever for a daemon that accepts it and does not answer. Another
 * host is not asked twice, as that may take a password. */
static bool may_hang(const char *uri)
{
	return !uri || (strstr(uri, ":///") && strncmp(uri, "test:", strlen("test:")) != 0);
}

/* The question whether the daemon answers, which another process asks. */
static struct {
	int fd;		  /* of xvt_libvirt_ask_by(); -1: a child of this process asks */
	bool *told_asked; /* the same */
	pid_t child;	  /* that child; 0: the process at `fd` was asked */
	int child_fd;	  /* of base/child.h */
	uint64_t asked_ns;
	bool asked;
} question = { .fd = -1, .child_fd = -1 };

static void set_asked(bool asked)
{
	question.asked = asked;
	if (question.told_asked)
		*question.told_asked = asked;
	if (asked)
		question.asked_ns = xvt_monotonic_ns();
	if (!asked && question.child_fd >= 0) {
		close(question.child_fd);
		question.child_fd = -1;
	}
}

int xvt_libvirt_prepare(void)
{
	struct xvt_error why;

	return load(&why);
}

void xvt_libvirt_ask_by(int fd, bool *asked)
{
	question.fd = fd;
	question.told_asked = asked;
}

/* Waits for a child that asks, which its alarm() ends, unless it was stopped. */
static int await_child(pid_t child, int fd, int *status)
{
	const int err = xvt_child_await(fd, child, status, CHILD_MS);

	if (err == -ETIMEDOUT)
		xvt_child_kill(fd, child);
	return err;
}

void xvt_libvirt_serve(int fd, void *uri)
{
	char asked;
	int status, pidfd, err;
	pid_t child;

	vir.SetErrorFunc(NULL, quiet);
	while (recv(fd, &asked, 1, 0) == 1) {
		child = fork();
		if (!child)
			ask_and_exit(uri);
		if (child < 0)
			return;
		pidfd = xvt_child_open(child);
		err = await_child(child, pidfd, &status);
		if (pidfd >= 0)
			close(pidfd);
		if (err == -ETIMEDOUT)
			status = SIGKILL; /* as of one that was killed */
		else if (err)
			return;
		if (send(fd, &status, sizeof(status), MSG_NOSIGNAL) != sizeof(status))
			return;
	}
}

/* Returns 0 or -errno. */
static int ask(const char *uri)
{
	if (question.asked)
		return 0;
	vir.SetErrorFunc(NULL, quiet);
	question.child = 0;
	if (question.fd >= 0) {
		if (send(question.fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1)
			return -errno;
	} else {
		question.child = fork();
		if (!question.child)
			ask_and_exit(uri);
		if (question.child < 0)
			return -errno;
		question.child_fd = xvt_child_open(question.child);
	}
	set_asked(true);
	return 0;
}

/* Takes the answer of a child of this process. Returns as take_answer(). */
static int take_child(bool wait, int *status)
{
	pid_t n;
	int err;

	if (wait || xvt_monotonic_ns() - question.asked_ns > CHILD_MS * 1000000ull) {
		err = await_child(question.child, question.child_fd, status);
		set_asked(false);
		return err;
	}
	n = waitpid(question.child, status, WNOHANG);
	if (!n || (n < 0 && errno == EINTR))
		return -EAGAIN;
	set_asked(false);
	return n > 0 ? 0 : -errno;
}

/* Returns 0 with the status of the process that asked, as of waitpid(); -EAGAIN: there is no answer
 * yet; -ETIMEDOUT: the process that asks stands still; or another -errno. */
static int take_answer(bool wait, int *status)
{
	ssize_t n;
	int err;

	if (question.child)
		return take_child(wait, status);
	err = xvt_child_wait(question.fd, POLLIN, wait ? 2 * CHILD_MS : 0);
	if (err)
		return err == -ETIMEDOUT && !wait ? -EAGAIN : err;
	n = recv(question.fd, status, sizeof(*status), MSG_DONTWAIT);
	set_asked(false);
	return n == sizeof(*status) ? 0 : -EPIPE;
}

/* Ask whether the daemon answers, and wait for ANSWER_SECONDS at most. Returns 0, also if a
 * connection is refused; or -ETIMEDOUT with the reason in `why`. */
static int await_answer(const char *uri, struct xvt_error *why)
{
	static uint64_t answered_ns;
	int status = 0, err;

	if (!may_hang(uri) || (answered_ns && xvt_monotonic_ns() - answered_ns < ANSWERED_NS))
		return 0;
	err = ask(uri);
	if (!err)
		err = take_answer(true, &status);
	if (err == -ETIMEDOUT || (!err && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
		return xvt_fail(
			why, -ETIMEDOUT,
			"libvirt's daemon is not asked: the process of xvtrace's that asks it "
			"does not answer, since it was stopped");
	if ((err && question.fd >= 0) ||
	    (!err && WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM))
		return xvt_fail(why, -ETIMEDOUT,
				DOES_NOT_ANSWER " within %u s; restart it, or name regions by -r",
				ANSWER_SECONDS);
	answered_ns = xvt_monotonic_ns();
	return 0;
}

/* Connect to libvirt; `changes`: with the right to change domains. Returns 0; or -ECONNREFUSED or
 * -ETIMEDOUT with the reason in `why`. */
static int open_connection(virConnectPtr *conn, const char *uri, bool changes,
			   struct xvt_error *why)
{
	int err = await_answer(uri, why);

	*conn = NULL;
	if (err)
		return err;
	vir.SetErrorFunc(NULL, quiet);
	*conn = changes ? vir.ConnectOpen(uri) : vir.ConnectOpenReadOnly(uri);
	if (*conn)
		return 0;
	return xvt_fail(
		why, -ECONNREFUSED, "cannot connect to libvirt: %s; %s", last_message(),
		changes ? "changing a domain needs root or the group libvirt (`xvtrace doctor` "
			  "says how)"
			: "`xvtrace doctor` says how, or name its region by -r");
}

static virDomainPtr look_up(virConnectPtr conn, const char *name)
{
	virDomainPtr dom = vir.DomainLookupByName(conn, name);

	return dom ? dom : vir.DomainLookupByUUIDString(conn, name);
}

/* Connect, with the right to change domains if asked, and look a domain up. Returns 0 and the two,
 * which the caller frees, or -errno. */
static int open_domain(const char *uri, const char *name, bool changes, virConnectPtr *conn,
		       virDomainPtr *dom, struct xvt_error *why)
{
	int err = load(why);

	if (err)
		return err;
	err = open_connection(conn, uri, changes, why);
	if (err)
		return err;
	*dom = look_up(*conn, name);
	if (*dom)
		return 0;
	xvt_fail(why, 0, "libvirt knows no domain of this name (see virsh list --all)%s",
		 uri || !geteuid() ? "" : "; domains of the host need -c qemu:///system");
	vir.ConnectClose(*conn);
	return -ENOENT;
}

static void close_domain(virConnectPtr conn, virDomainPtr dom)
{
	vir.DomainFree(dom);
	vir.ConnectClose(conn);
}

int xvt_libvirt_find(const char *uri, const char *name, struct xvt_domain *domain,
		     struct xvt_error *why)
{
	virConnectPtr conn;
	virDomainPtr dom;
	int err;

	memset(domain, 0, sizeof(*domain));
	err = open_domain(uri, name, false, &conn, &dom, why);
	if (err)
		return err;
	if (vir.DomainIsActive(dom) == 1) {
		err = describe(dom, domain, why);
	} else {
		err = xvt_fail(why, -ESRCH, "the domain does not run (virsh start %s)", name);
	}
	close_domain(conn, dom);
	return err;
}

int xvt_libvirt_domains(const char *uri, void (*fn)(void *arg, const struct xvt_domain *domain),
			void *arg, struct xvt_error *why)
{
	struct xvt_domain domain;
	virDomainPtr *all = NULL;
	virConnectPtr conn;
	struct xvt_error unread;
	int err = load(why), i, n;

	if (err)
		return err;
	err = open_connection(&conn, uri, false, why);
	if (err)
		return err;
	n = vir.ConnectListAllDomains(conn, &all, VIR_CONNECT_LIST_DOMAINS_ACTIVE);
	if (n < 0) {
		err = xvt_fail(why, -EIO, "libvirt does not list its domains: %s", last_message());
	}
	for (i = 0; i < n; i++) {
		/* A domain that ends meanwhile has no XML. */
		if (describe(all[i], &domain, &unread) != -EIO)
			fn(arg, &domain);
		vir.DomainFree(all[i]);
	}
	free(all);
	vir.ConnectClose(conn);
	return err;
}

int xvt_libvirt_version(char *text, size_t size)
{
	unsigned long version;
	struct xvt_error why;

	if (load(&why) || vir.GetVersion(&version, NULL, NULL))
		return -ENOPKG;
	snprintf(text, size, "%lu.%lu.%lu", version / 1000000, version / 1000 % 1000,
		 version % 1000);
	return 0;
}

int xvt_libvirt_reach(const char *uri, struct xvt_error *why)
{
	virConnectPtr conn;
	int err = load(why);

	if (err)
		return err;
	err = await_answer(uri, why);
	if (err)
		return err;
	vir.SetErrorFunc(NULL, quiet);
	conn = vir.ConnectOpen(uri);
	if (!conn)
		return xvt_fail(why, -ECONNREFUSED, "%s", last_message());
	vir.ConnectClose(conn);
	return 0;
}

/* ------------------------------------------------------------------ libvirt's events, our loop */

/*
 * A descriptor or a timeout that libvirt has registered a callback for. libvirt may change or
 * remove a source at any time, also from within that callback. But the loop's operation must live
 * until the loop has returned it, and libvirt forbids calling `release` from within its call to
 * remove. Therefore reap() frees a removed source after both.
 */
struct source {
	struct xvt_op op;
	struct source *next;
	int id;
	int fd;	   /* libvirt's descriptor; of a timeout, a timerfd of this file */
	int wants; /* VIR_EVENT_HANDLE_*; of a timeout, milliseconds, < 0: off */
	bool timer;
	bool removed;
	virEventHandleCallback on_handle;
	virEventTimeoutCallback on_timeout;
	void *opaque;
	virFreeCallback release;
};

static short poll_mask(int wants)
{
	return (short)((wants & VIR_EVENT_HANDLE_READABLE ? POLLIN : 0) |
		       (wants & VIR_EVENT_HANDLE_WRITABLE ? POLLOUT : 0));
}

/* The result of a poll as VIR_EVENT_HANDLE_*. libvirt handles a failed poll (EBADF) as an error. */
static int handle_mask(int res)
{
	if (res < 0)
		return VIR_EVENT_HANDLE_ERROR;
	return (res & POLLIN ? VIR_EVENT_HANDLE_READABLE : 0) |
	       (res & POLLOUT ? VIR_EVENT_HANDLE_WRITABLE : 0) |
	       (res & POLLERR ? VIR_EVENT_HANDLE_ERROR : 0) |
	       (res & POLLHUP ? VIR_EVENT_HANDLE_HANGUP : 0);
}

static void set_time(const struct source *src)
{
	/* 0 ms means at once, but a zero time switches a timerfd off: use 1 ns. */
	struct itimerspec t = { .it_value = { .tv_sec = src->wants / 1000,
					      .tv_nsec = src->wants % 1000 * 1000000l +
							 !src->wants } };

	if (src->wants < 0)
		memset(&t, 0, sizeof(t));
	timerfd_settime(src->fd, 0, &t, NULL);
}

static void arm(struct source *src)
{
	short mask = src->timer ? POLLIN : poll_mask(src->wants);

	if (src->removed || src->op.held || !mask || !events.loop)
		return;
	xvt_loop_poll(events.loop, &src->op, src->fd, (uint32_t)mask);
}

static void reap(void)
{
	struct source **at = &events.sources, *src;

	while ((src = *at)) {
		if (!src->removed || src->op.held) {
			at = &src->next;
			continue;
		}
		*at = src->next;
		if (src->release)
			src->release(src->opaque);
		if (src->timer)
			close(src->fd);
		free(src);
		at = &events.sources; /* release may have removed other sources */
	}
}

static void dispatch(struct source *src, int res)
{
	const int always = VIR_EVENT_HANDLE_ERROR | VIR_EVENT_HANDLE_HANGUP;
	uint64_t expired;

	if (!src->timer) {
		/* libvirt may have changed `wants` since the poll began. */
		int mask = handle_mask(res) & (src->wants | always);

		if (mask)
			src->on_handle(src->id, src->fd, mask, src->opaque);
	} else if (read(src->fd, &expired, sizeof(expired)) > 0) {
		src->on_timeout(src->id, src->opaque);
		/* A timeout repeats until libvirt changes or removes it. */
		if (!src->removed)
			set_time(src);
	}
}

static void on_source(struct xvt_op *op, int res)
{
	struct source *src = container_of(op, struct source, op);

	if (!src->removed && res != -ECANCELED)
		dispatch(src, res);
	arm(src);
	reap();
}

static struct source *new_source(int fd, int wants, void *opaque, virFreeCallback release)
{
	struct source *src = calloc(1, sizeof(*src));

	if (!src)
		return NULL;
	src->op.done = on_source;
	src->id = ++events.last_id;
	src->fd = fd;
	src->wants = wants;
	src->opaque = opaque;
	src->release = release;
	src->next = events.sources;
	events.sources = src;
	return src;
}

static struct source *source_of(int id)
{
	struct source *src = events.sources;

	while (src && (src->id != id || src->removed))
		src = src->next;
	return src;
}

static int add_handle(int fd, int wants, virEventHandleCallback fn, void *opaque,
		      virFreeCallback release)
{
	/* Without a loop libvirt answers calls as before, but reports no events. */
	struct source *src = events.loop ? new_source(fd, wants, opaque, release) : NULL;

	if (!src)
		return -1;
	src->on_handle = fn;
	arm(src);
	return src->id;
}

static void update_handle(int id, int wants)
{
	struct source *src = source_of(id);

	if (!src || src->wants == wants)
		return;
	src->wants = wants;
	if (src->op.held)
		xvt_loop_cancel(events.loop, &src->op); /* on_source() arms it again */
	else
		arm(src);
}

static int remove_source(int id)
{
	struct source *src = source_of(id);

	if (!src)
		return -1;
	src->removed = true;
	xvt_loop_cancel(events.loop, &src->op);
	return 0;
}

static int add_timeout(int ms, virEventTimeoutCallback fn, void *opaque, virFreeCallback release)
{
	int fd = events.loop ? timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK) : -1;
	struct source *src = fd >= 0 ? new_source(fd, ms, opaque, release) : NULL;

	if (!src) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	src->timer = true;
	src->on_timeout = fn;
	set_time(src);
	arm(src);
	return src->id;
}

static void update_timeout(int id, int ms)
{
	struct source *src = source_of(id);

	if (!src)
		return;
	src->wants = ms;
	set_time(src);
}

static int use_loop(struct xvt_loop *loop)
{
	if (events.loop && events.loop != loop)
		return -EBUSY;
	if (!events.registered)
		vir.EventRegisterImpl(add_handle, update_handle, remove_source, add_timeout,
				      update_timeout, remove_source);
	events.registered = true;
	events.loop = loop;
	events.listeners++;
	return 0;
}

/* After the last listener, wait until the loop holds no operation: its owner may free it next. */
static void leave_loop(void)
{
	struct source *src;
	bool held = true;

	if (--events.listeners)
		return;
	for (src = events.sources; src; src = src->next)
		remove_source(src->id);
	while (held) {
		held = false;
		for (src = events.sources; src; src = src->next)
			held |= src->op.held;
		if (held && xvt_loop_run(events.loop, 1000000000u) < 0)
			break;
	}
	reap();
	events.loop = NULL;
}

int xvt_libvirt_answers(const char *uri)
{
	int status, err;
	struct xvt_error why;

	if (!question.asked) {
		err = load(&why);
		return err ? err : ask(uri);
	}
	err = take_answer(false, &status);
	if (err == -EAGAIN)
		return 0;
	if (err || !WIFEXITED(status) || WEXITSTATUS(status))
		return -ECONNREFUSED;
	events.hangs = false;
	return 1;
}

/* Makes calls of a connection fail when the daemon stops, and the loop learn of it. Libvirt's test
 * driver has no daemon. */
static void keep_alive(virConnectPtr conn)
{
	vir.ConnectSetKeepAlive(conn, PING_SECONDS, PINGS);
}

/* Deregister an event; id < 0: none. */
static void deregister(virConnectPtr conn, int id)
{
	if (id >= 0 && vir.ConnectDomainEventDeregisterAny(conn, id))
		events.hangs = true;
}

void xvt_libvirt_leave(void)
{
	events.hangs = true;
}

/* ------------------------------------------------------------------ a domain's events */

struct listener {
	struct xvt_vmm base;
	virConnectPtr conn;
	virDomainPtr dom;
	xvt_vmm_fn fn;
	void *arg;
	int lifecycle_id, reboot_id; /* -1: not registered */
	bool gone;		     /* GONE was reported; cleared when the domain starts again */
	bool lost;		     /* the connection has ended: `gone` stays set */
};

static void report(struct listener *l, enum xvt_vmm_event event, int err, const char *why)
{
	if (l->gone)
		return;
	l->gone = event == XVT_VMM_GONE;
	xvt_vmm_report(l->fn, l->arg, event, 0, err, "%s", why ? why : "");
}

#define TEXT(table, i) ((size_t)(i) < sizeof(table) / sizeof(*(table)) ? (table)[i] : NULL)

static const char *const paused_why[] = {
	[VIR_DOMAIN_PAUSED_USER] = "paused",
	[VIR_DOMAIN_PAUSED_MIGRATION] = "migration",
	[VIR_DOMAIN_PAUSED_SAVE] = "being saved",
	[VIR_DOMAIN_PAUSED_DUMP] = "being dumped",
	[VIR_DOMAIN_PAUSED_IOERROR] = "I/O error",
	[VIR_DOMAIN_PAUSED_WATCHDOG] = "watchdog",
	[VIR_DOMAIN_PAUSED_FROM_SNAPSHOT] = "restored from a snapshot",
	[VIR_DOMAIN_PAUSED_SHUTTING_DOWN] = "shutting down",
	[VIR_DOMAIN_PAUSED_SNAPSHOT] = "snapshot",
	[VIR_DOMAIN_PAUSED_CRASHED] = "its kernel panicked",
	[VIR_DOMAIN_PAUSED_STARTING_UP] = "starting up",
};

static const char *const suspended_why[] = {
	[VIR_DOMAIN_EVENT_SUSPENDED_PAUSED] = "paused",
	[VIR_DOMAIN_EVENT_SUSPENDED_MIGRATED] = "migration",
	[VIR_DOMAIN_EVENT_SUSPENDED_IOERROR] = "I/O error",
	[VIR_DOMAIN_EVENT_SUSPENDED_WATCHDOG] = "watchdog",
	[VIR_DOMAIN_EVENT_SUSPENDED_RESTORED] = "restored",
	[VIR_DOMAIN_EVENT_SUSPENDED_FROM_SNAPSHOT] = "restored from a snapshot",
	[VIR_DOMAIN_EVENT_SUSPENDED_API_ERROR] = "libvirt failed",
	[VIR_DOMAIN_EVENT_SUSPENDED_POSTCOPY] = "migration (postcopy)",
};

static const char *const stopped_why[] = {
	[VIR_DOMAIN_EVENT_STOPPED_SHUTDOWN] = "shut down",
	[VIR_DOMAIN_EVENT_STOPPED_DESTROYED] = "destroyed",
	[VIR_DOMAIN_EVENT_STOPPED_CRASHED] = "QEMU crashed",
	[VIR_DOMAIN_EVENT_STOPPED_MIGRATED] = "migrated",
	[VIR_DOMAIN_EVENT_STOPPED_SAVED] = "saved",
	[VIR_DOMAIN_EVENT_STOPPED_FAILED] = "QEMU failed",
	[VIR_DOMAIN_EVENT_STOPPED_FROM_SNAPSHOT] = "replaced by a snapshot",
};

static const char *const started_why[] = {
	[VIR_DOMAIN_EVENT_STARTED_BOOTED] = "booted",
	[VIR_DOMAIN_EVENT_STARTED_MIGRATED] = "migration",
	[VIR_DOMAIN_EVENT_STARTED_RESTORED] = "restored from a file",
	[VIR_DOMAIN_EVENT_STARTED_FROM_SNAPSHOT] = "started from a snapshot",
	[VIR_DOMAIN_EVENT_STARTED_WAKEUP] = "",
};

static const char *const resumed_why[] = {
	[VIR_DOMAIN_EVENT_RESUMED_UNPAUSED] = "",
	[VIR_DOMAIN_EVENT_RESUMED_MIGRATED] = "",
	[VIR_DOMAIN_EVENT_RESUMED_FROM_SNAPSHOT] = "from a saved state",
	[VIR_DOMAIN_EVENT_RESUMED_POSTCOPY] = "migration (postcopy)",
};

static const char *const shutdown_why[] = {
	[VIR_DOMAIN_EVENT_SHUTDOWN_FINISHED] = "",
	[VIR_DOMAIN_EVENT_SHUTDOWN_GUEST] = "by its guest",
	[VIR_DOMAIN_EVENT_SHUTDOWN_HOST] = "by the host",
};

static void domain_stopped(struct listener *l, int detail)
{
	bool failed = detail == VIR_DOMAIN_EVENT_STOPPED_CRASHED ||
		      detail == VIR_DOMAIN_EVENT_STOPPED_FAILED;

	if (detail == VIR_DOMAIN_EVENT_STOPPED_MIGRATED)
		report(l, XVT_VMM_MIGRATED_AWAY, 0, NULL);
	report(l, XVT_VMM_GONE, failed ? -EPIPE : 0, TEXT(stopped_why, detail));
}

/* A domain is renamed while it does not run, so GONE was reported. */
static void domain_renamed(struct listener *l, virDomainPtr dom)
{
	const char *name = vir.DomainGetName(dom);
	const bool gone = l->gone;

	l->gone = l->lost;
	report(l, XVT_VMM_RENAMED, 0, name);
	l->gone = gone;
}

/* A migration begins with a VMM that waits for the machine's state; RESUMED follows. */
static void domain_started(struct listener *l, int detail)
{
	enum xvt_vmm_event event = XVT_VMM_RUNNING;

	if (detail == VIR_DOMAIN_EVENT_STARTED_MIGRATED)
		event = XVT_VMM_STOPPED;
	else if (detail == VIR_DOMAIN_EVENT_STARTED_WAKEUP)
		event = XVT_VMM_WOKEN;
	l->gone = l->lost;
	if (detail == VIR_DOMAIN_EVENT_STARTED_RESTORED)
		report(l, XVT_VMM_ARRIVED, 0, TEXT(started_why, detail));
	report(l, event, 0, TEXT(started_why, detail));
}

static int on_lifecycle(virConnectPtr conn, virDomainPtr dom, int event, int detail, void *opaque)
{
	struct listener *l = opaque;

	(void)conn;
	switch (event) {
	case VIR_DOMAIN_EVENT_SUSPENDED:
		report(l, XVT_VMM_STOPPED, 0, TEXT(suspended_why, detail));
		break;
	case VIR_DOMAIN_EVENT_RESUMED:
		if (detail == VIR_DOMAIN_EVENT_RESUMED_MIGRATED)
			report(l, XVT_VMM_ARRIVED, 0, NULL);
		report(l, XVT_VMM_RUNNING, 0, TEXT(resumed_why, detail));
		break;
	case VIR_DOMAIN_EVENT_STARTED:
		domain_started(l, detail);
		break;
	case VIR_DOMAIN_EVENT_SHUTDOWN:
		report(l, XVT_VMM_SHUTTING_DOWN, 0, TEXT(shutdown_why, detail));
		break;
	case VIR_DOMAIN_EVENT_DEFINED:
		if (detail == VIR_DOMAIN_EVENT_DEFINED_RENAMED)
			domain_renamed(l, dom);
		break;
	case VIR_DOMAIN_EVENT_PMSUSPENDED:
		report(l, XVT_VMM_SUSPENDED, 0, NULL);
		break;
	case VIR_DOMAIN_EVENT_CRASHED:
		report(l, XVT_VMM_PANICKED, 0, NULL);
		break;
	case VIR_DOMAIN_EVENT_STOPPED:
		domain_stopped(l, detail);
		break;
	default: /* undefined */
		break;
	}
	return 0;
}

static void on_reboot(virConnectPtr conn, virDomainPtr dom, void *opaque)
{
	(void)conn;
	(void)dom;
	report(opaque, XVT_VMM_RESET, 0, NULL);
}

static void on_lost(virConnectPtr conn, int reason, void *opaque)
{
	struct listener *l = opaque;

	(void)conn;
	l->lost = true;
	report(l, XVT_VMM_GONE, -ENOTCONN,
	       reason == VIR_CONNECT_CLOSE_REASON_KEEPALIVE ? DOES_NOT_ANSWER
							    : "the connection to libvirt is lost");
}

static int report_state(struct listener *l)
{
	int state, reason;

	if (vir.DomainGetState(l->dom, &state, &reason, 0))
		return -EIO;
	switch (state) {
	case VIR_DOMAIN_PAUSED:
		report(l, XVT_VMM_STOPPED, 0, TEXT(paused_why, reason));
		break;
	case VIR_DOMAIN_PMSUSPENDED:
		report(l, XVT_VMM_SUSPENDED, 0, NULL);
		break;
	case VIR_DOMAIN_SHUTDOWN:
		report(l, XVT_VMM_STOPPED, 0, "shutting down");
		break;
	case VIR_DOMAIN_CRASHED:
		report(l, XVT_VMM_STOPPED, 0, "its kernel panicked");
		break;
	case VIR_DOMAIN_SHUTOFF:
		report(l, XVT_VMM_GONE, 0, "it does not run");
		break;
	default:
		report(l, XVT_VMM_RUNNING, 0, NULL);
	}
	return 0;
}

static void free_listener(struct listener *l)
{
	const bool left = l->conn && !l->lost && events.hangs;

	/* No report follows: it may be left to the end of the process. */
	l->gone = l->lost = true;
	if (!left) {
		deregister(l->conn, l->lifecycle_id);
		deregister(l->conn, l->reboot_id);
		if (l->dom)
			vir.DomainFree(l->dom);
		if (l->conn) {
			vir.ConnectUnregisterCloseCallback(l->conn, on_lost);
			vir.ConnectClose(l->conn);
		}
	}
	leave_loop();
	if (!left)
		free(l);
}

static void libvirt_close(struct xvt_vmm *v)
{
	free_listener(container_of(v, struct listener, base));
}

static const struct xvt_vmm_ops libvirt_ops = {
	.name = "libvirt",
	.close = libvirt_close,
	.sees_starts = true,
};

/* Returns 0 or -errno. */
static int subscribe(struct listener *l, const char *uri, const uint8_t uuid[16])
{
	/* A read-only connection cannot change the machine. */
	l->conn = vir.ConnectOpenReadOnly(uri);
	if (!l->conn)
		return -ECONNREFUSED;
	keep_alive(l->conn);
	l->dom = vir.DomainLookupByUUID(l->conn, uuid);
	if (!l->dom)
		return -ENOENT;
	l->lifecycle_id =
		vir.ConnectDomainEventRegisterAny(l->conn, l->dom, VIR_DOMAIN_EVENT_ID_LIFECYCLE,
						  VIR_DOMAIN_EVENT_CALLBACK(on_lifecycle), l, NULL);
	if (l->lifecycle_id < 0)
		return -ENOTSUP;
	/* Some hypervisors lack these two: a failure is ignored. */
	l->reboot_id =
		vir.ConnectDomainEventRegisterAny(l->conn, l->dom, VIR_DOMAIN_EVENT_ID_REBOOT,
						  VIR_DOMAIN_EVENT_CALLBACK(on_reboot), l, NULL);
	vir.ConnectRegisterCloseCallback(l->conn, on_lost, l, NULL);
	/* After the registration: a change in between is reported twice, not missed. */
	return report_state(l);
}

int xvt_libvirt_listen(struct xvt_vmm **out, struct xvt_loop *loop, const char *uri,
		       const uint8_t uuid[16], xvt_vmm_fn fn, void *arg, struct xvt_error *why)
{
	struct listener *l;
	int err = load(why);

	if (err)
		return err;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	vir.SetErrorFunc(NULL, quiet);
	l->base.ops = &libvirt_ops;
	l->lifecycle_id = l->reboot_id = -1;
	l->fn = fn;
	l->arg = arg;
	err = use_loop(loop);
	if (err) {
		xvt_fail(why, 0, "libvirt's events go to another loop already");
		free(l);
		return err;
	}
	err = subscribe(l, uri, uuid);
	if (err) {
		xvt_fail(why, 0, "libvirt tells no events: %s", last_message());
		free_listener(l);
		return err;
	}
	*out = &l->base;
	return 0;
}

/* ------------------------------------------------------------------ domains that come */

struct xvt_libvirt_watch {
	virConnectPtr conn;
	int lifecycle_id, device_id; /* -1: not registered */
	bool lost;
	bool silent; /* the connection is lost because the daemon does not answer */
	/* UUIDs of domains to describe, from `first` on */
	uint8_t (*come)[VIR_UUID_BUFLEN];
	size_t n, first, room;
};

static void domain_came(struct xvt_libvirt_watch *w, virDomainPtr dom)
{
	size_t i;

	/* Without memory the domain is missed; it comes again with its next event. */
	if (w->lost || xvt_grow(&w->come, &w->room, w->n + 1, sizeof(*w->come)) ||
	    vir.DomainGetUUID(dom, w->come[w->n]))
		return;
	for (i = w->first; i < w->n; i++) {
		if (!memcmp(w->come[i], w->come[w->n], sizeof(*w->come)))
			return;
	}
	w->n++;
}

static int on_any_lifecycle(virConnectPtr conn, virDomainPtr dom, int event, int detail,
			    void *opaque)
{
	(void)conn;
	(void)detail;
	if (event == VIR_DOMAIN_EVENT_STARTED || event == VIR_DOMAIN_EVENT_RESUMED)
		domain_came(opaque, dom);
	return 0;
}

static void on_device(virConnectPtr conn, virDomainPtr dom, const char *alias, void *opaque)
{
	(void)conn;
	(void)alias;
	domain_came(opaque, dom);
}

static void on_watch_lost(virConnectPtr conn, int reason, void *opaque)
{
	struct xvt_libvirt_watch *w = opaque;

	(void)conn;
	w->lost = true;
	w->silent = reason == VIR_CONNECT_CLOSE_REASON_KEEPALIVE;
}

/* Returns 0 or -errno. */
static int begin_watch(struct xvt_libvirt_watch *w)
{
	virDomainPtr *all = NULL;
	int i, n;

	keep_alive(w->conn);
	w->lifecycle_id = vir.ConnectDomainEventRegisterAny(
		w->conn, NULL, VIR_DOMAIN_EVENT_ID_LIFECYCLE,
		VIR_DOMAIN_EVENT_CALLBACK(on_any_lifecycle), w, NULL);
	if (w->lifecycle_id < 0)
		return -ENOTSUP;
	/* Some hypervisors lack these two: a failure is ignored. */
	w->device_id =
		vir.ConnectDomainEventRegisterAny(w->conn, NULL, VIR_DOMAIN_EVENT_ID_DEVICE_ADDED,
						  VIR_DOMAIN_EVENT_CALLBACK(on_device), w, NULL);
	vir.ConnectRegisterCloseCallback(w->conn, on_watch_lost, w, NULL);
	/* After the registration: a domain that starts in between is described twice. */
	n = vir.ConnectListAllDomains(w->conn, &all, VIR_CONNECT_LIST_DOMAINS_ACTIVE);
	for (i = 0; i < n; i++) {
		domain_came(w, all[i]);
		vir.DomainFree(all[i]);
	}
	free(all);
	return n < 0 ? -EIO : 0;
}

int xvt_libvirt_watch(struct xvt_libvirt_watch **out, struct xvt_loop *loop, const char *uri,
		      struct xvt_error *why)
{
	struct xvt_libvirt_watch *w;
	int err = load(why);

	if (err)
		return err;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->lifecycle_id = w->device_id = -1;
	err = use_loop(loop);
	if (err) {
		xvt_fail(why, 0, "libvirt's events go to another loop already");
		free(w);
		return err;
	}
	err = open_connection(&w->conn, uri, false, why);
	if (!err)
		err = begin_watch(w);
	if (err) {
		if (w->conn)
			xvt_fail(why, 0, "libvirt tells no events: %s", last_message());
		xvt_libvirt_unwatch(w);
		return err;
	}
	*out = w;
	return 0;
}

int xvt_libvirt_watch_next(struct xvt_libvirt_watch *w, struct xvt_domain *domain)
{
	struct xvt_error why;
	virDomainPtr dom;
	int err;

	while (!w->lost && w->first < w->n) {
		dom = vir.DomainLookupByUUID(w->conn, w->come[w->first++]);
		if (!dom)
			continue; /* the domain has ended */
		err = vir.DomainIsActive(dom) == 1 ? describe(dom, domain, &why) : -EIO;
		vir.DomainFree(dom);
		if (err != -EIO)
			return 1;
	}
	if (w->first == w->n)
		w->first = w->n = 0;
	return w->silent ? -ETIMEDOUT : w->lost ? -EPIPE : 0;
}

void xvt_libvirt_unwatch(struct xvt_libvirt_watch *w)
{
	bool left;

	if (!w)
		return;
	left = w->conn && !w->lost && events.hangs;
	w->lost = true;
	if (!left) {
		deregister(w->conn, w->lifecycle_id);
		deregister(w->conn, w->device_id);
		if (w->conn) {
			vir.ConnectUnregisterCloseCallback(w->conn, on_watch_lost);
			vir.ConnectClose(w->conn);
		}
	}
	leave_loop();
	free(w->come);
	if (!left)
		free(w);
}

/* ------------------------------------------------------------------ plug and unplug */

/* Copy a text for an attribute of XML, with its special characters escaped. */
static void escape(const char *text, char *safe, size_t size)
{
	size_t used = 0;

	for (; *text && used + 6 < size; text++) {
		if (strchr("<>&'\"", *text))
			used += (size_t)sprintf(safe + used, "&#%d;", *text);
		else
			safe[used++] = *text;
	}
	safe[used] = 0;
}

/* Write the XML of a new device. */
static void new_shmem(const char *name, uint64_t mib, const char *server, char *text, size_t size)
{
	char safe[6 * sizeof(((struct xvt_domain *)0)->name)], path[1024];

	escape(name, safe, sizeof(safe));
	escape(server ? server : "", path, sizeof(path));
	if (server)
		snprintf(text, size,
			 "<shmem name='" DEVICE_PREFIX "%s'><model type='ivshmem-doorbell'/>"
			 "<server path='%s'/><msi vectors='1' ioeventfd='on'/></shmem>",
			 safe, path);
	else
		snprintf(text, size,
			 "<shmem name='" DEVICE_PREFIX "%s'><model type='ivshmem-plain'/>"
			 "<size unit='M'>%llu</size></shmem>",
			 safe, (unsigned long long)mib);
}

/* Check that the domain can get a region, and fill *domain. Returns 0 or -errno. */
static int may_attach(virDomainPtr dom, uint64_t mib, bool config, bool served,
		      struct xvt_domain *domain, struct xvt_error *why)
{
	char shm[sizeof(domain->name) + sizeof(DEVICE_PREFIX)];
	int err = describe(dom, domain, why);

	if (!err)
		return xvt_fail(why, -EEXIST, "it has a region already: %s", domain->region);
	if (err != -ENODEV)
		return err;
	snprintf(shm, sizeof(shm), DEVICE_PREFIX "%s", domain->name);
	set_region(domain, shm);
	if (vir.DomainIsActive(dom) != 1 && !config)
		return xvt_fail(
			why, -ESRCH,
			"the domain does not run; start it, or give it the region for its next "
			"start by --config");
	if (config && vir.DomainIsPersistent(dom) != 1)
		return xvt_fail(why, -EINVAL,
				"the domain is transient: it has no definition to change, "
				"so leave out --config");
	if (served || access(domain->region, F_OK) || xvt_file_is_left(domain->region, mib << 20))
		return 0;
	return xvt_fail(
		why, -EEXIST,
		"%s is there already: the region of another machine, or of one that has ended "
		"(xvtrace guests, xvtrace salvage); remove it first (xvtrace detach)",
		domain->region);
}

static unsigned int live_and(virDomainPtr dom, bool config)
{
	return (vir.DomainIsActive(dom) == 1 ? VIR_DOMAIN_AFFECT_LIVE : 0) |
	       (config ? VIR_DOMAIN_AFFECT_CONFIG : 0);
}

/* Advice where libvirt refuses a device with this message: begins with "; ", or is empty. */
static const char *attach_hint(const char *message)
{
	if (strstr(message, "No more available PCI") || strstr(message, "No PCI buses"))
		return "; free one (a q35 machine needs a pcie-root-port for it), or use --config "
		       "and start the domain again (docs/guest.md)";
	if (strstr(message, "Permission denied"))
		return "; if AppArmor forbids QEMU the file (journalctl -k --grep DENIED), use "
		       "--config and start the domain again (docs/operations.md)";
	return "";
}

int xvt_libvirt_attach(const char *uri, const char *name, uint64_t mib, const char *server,
		       bool config, struct xvt_domain *domain, struct xvt_error *why)
{
	char device[2048];
	virConnectPtr conn;
	virDomainPtr dom;
	int err;

	memset(domain, 0, sizeof(*domain));
	err = open_domain(uri, name, true, &conn, &dom, why);
	if (err)
		return err;
	err = may_attach(dom, mib, config, server != NULL, domain, why);
	if (!err) {
		new_shmem(domain->name, mib, server, device, sizeof(device));
		if (vir.DomainAttachDeviceFlags(dom, device, live_and(dom, config))) {
			err = xvt_fail(why, -EIO, "libvirt does not plug it in: %s%s",
				       last_message(), attach_hint(last_message()));
		}
	}
	close_domain(conn, dom);
	return err;
}

/* Take the device out of the running domain, or of its definition. Returns 1; 0: it has none; or
 * -EIO. */
static int unplug(virDomainPtr dom, unsigned int from, struct xvt_error *why)
{
	char *text = vir.DomainGetXMLDesc(
		dom, from == VIR_DOMAIN_AFFECT_CONFIG ? VIR_DOMAIN_XML_INACTIVE : 0);
	char *device = text ? shmem_xml(text) : NULL;
	int err = device != NULL;

	if (device && vir.DomainDetachDeviceFlags(dom, device, from)) {
		err = xvt_fail(why, -EIO, "libvirt does not take it out: %s", last_message());
	}
	free(device);
	free(text);
	return err;
}

int xvt_libvirt_detach(const char *uri, const char *name, struct xvt_domain *domain,
		       struct xvt_error *why)
{
	int err, live = 0, config = 0;
	virConnectPtr conn;
	virDomainPtr dom;

	memset(domain, 0, sizeof(*domain));
	err = open_domain(uri, name, true, &conn, &dom, why);
	if (err)
		return err;
	err = describe(dom, domain, why);
	if (!err && domain->doorbell && vir.DomainIsActive(dom) == 1) {
		xvt_fail(why, 0, XVT_DOORBELL_STAYS);
		close_domain(conn, dom);
		return -EBUSY;
	}
	if (vir.DomainIsActive(dom) == 1)
		live = unplug(dom, VIR_DOMAIN_AFFECT_LIVE, why);
	if (live >= 0 && vir.DomainIsPersistent(dom) == 1)
		config = unplug(dom, VIR_DOMAIN_AFFECT_CONFIG, why);
	close_domain(conn, dom);
	if (live < 0 || config < 0)
		return -EIO;
	if (live || config || err == -EIO)
		return err == -EIO ? err : 0;
	return xvt_fail(why, -ENODEV,
			"it has no region (no <shmem name='" DEVICE_PREFIX "...'> device)");
}

int xvt_libvirt_has_region(const char *uri, const char *name, struct xvt_error *why)
{
	struct xvt_domain domain;
	int err = xvt_libvirt_find(uri, name, &domain, why);

	return !err ? 1 : err == -ENODEV || err == -ESRCH || err == -ENOENT ? 0 : err;
}
