// SPDX-License-Identifier: GPL-2.0
/* compress.c - see compress.h. The only file that uses zstd. */
#include "base/compress.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#ifdef XVT_ZSTD
#include <zstd.h>

struct xvt_packer {
	ZSTD_CCtx *ctx;
	int level;
};

int xvt_packer_new(struct xvt_packer **out, unsigned int level)
{
	struct xvt_packer *p = calloc(1, sizeof(*p));

	*out = NULL;
	if (!p)
		return -ENOMEM;
	p->ctx = ZSTD_createCCtx();
	p->level = (int)level;
	if (!p->ctx) {
		free(p);
		return -ENOMEM;
	}
	*out = p;
	return 0;
}

void xvt_packer_free(struct xvt_packer *p)
{
	if (!p)
		return;
	ZSTD_freeCCtx(p->ctx);
	free(p);
}

ssize_t xvt_pack(struct xvt_packer *p, void *to, size_t room, const void *from, size_t len)
{
	size_t n = ZSTD_compressCCtx(p->ctx, to, room, from, len, p->level);

	return ZSTD_isError(n) ? -ENOSPC : (ssize_t)n;
}

size_t xvt_pack_bound(size_t len)
{
	return ZSTD_compressBound(len);
}

const char *xvt_pack_version(void)
{
	return ZSTD_versionString();
}

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;

static void free_ctx(void *ctx)
{
	ZSTD_freeDCtx(ctx);
}

static void make_key(void)
{
	has_key = !pthread_key_create(&key, free_ctx);
}

/* For the calling thread, which frees it when it ends, if the system allows that. NULL: out of
 * memory. */
static ZSTD_DCtx *new_ctx(void)
{
	ZSTD_DCtx *ctx = ZSTD_createDCtx();

	pthread_once(&key_once, make_key);
	if (ctx && has_key)
		(void)pthread_setspecific(key, ctx);
	return ctx;
}

int xvt_unpack(void *to, size_t len, const void *from, size_t packed_len)
{
	/* Created once a thread, until it ends: its cost is too high for one chunk. The output goes
	 * straight into `to`, so the contents of a frame cannot make zstd allocate more. */
	static __thread ZSTD_DCtx *ctx;

	if (!ctx)
		ctx = new_ctx();
	if (!ctx)
		return -ENOMEM;
	return ZSTD_decompressDCtx(ctx, to, len, from, packed_len) == len ? 0 : -EBADMSG;
}
#else
int xvt_packer_new(struct xvt_packer **out, unsigned int level)
{
	(void)level;
	*out = NULL;
	return -ENOTSUP;
}

void xvt_packer_free(struct xvt_packer *p)
{
	(void)p;
}

ssize_t xvt_pack(struct xvt_packer *p, void *to, size_t room, const void *from, size_t len)
{
	(void)p, (void)to, (void)room, (void)from, (void)len;
	return -ENOSPC;
}

size_t xvt_pack_bound(size_t len)
{
	(void)len;
	return 0;
}

const char *xvt_pack_version(void)
{
	return "";
}

int xvt_unpack(void *to, size_t len, const void *from, size_t packed_len)
{
	(void)to, (void)len, (void)from, (void)packed_len;
	return -ENOTSUP;
}
#endif
