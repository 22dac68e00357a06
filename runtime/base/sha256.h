/* sha256.h: the hash of FIPS 180-4, for keys and checks of the disk cache. */
#ifndef TILEK_SHA256_H
#define TILEK_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { TILEK_SHA256_BYTES = 32 };

typedef struct tilek_sha256 {
    uint32_t state[8];
    uint64_t length;          /* bytes taken so far */
    unsigned char block[64];  /* the last length % 64 of them */
} tilek_sha256;

void tilek_sha256_begin(tilek_sha256 *hash);
void tilek_sha256_add(tilek_sha256 *hash, const void *bytes, size_t size);
void tilek_sha256_end(tilek_sha256 *hash, unsigned char digest[TILEK_SHA256_BYTES]);

#endif
