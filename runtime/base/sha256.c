/* sha256.c: FIPS 180-4, section 6.2; names of variables are the standard's. */
#include "base/sha256.h"

#include <string.h>

static const uint32_t round_constants[64] = {
    0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u, 0x923f82a4u, 0xab1c5ed5u,
    0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u, 0x72be5d74u, 0x80deb1feu, 0x9bdc06a7u, 0xc19bf174u,
    0xe49b69c1u, 0xefbe4786u, 0x0fc19dc6u, 0x240ca1ccu, 0x2de92c6fu, 0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau,
    0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u, 0xc6e00bf3u, 0xd5a79147u, 0x06ca6351u, 0x14292967u,
    0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu, 0x53380d13u, 0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u,
    0xa2bfe8a1u, 0xa81a664bu, 0xc24b8b70u, 0xc76c51a3u, 0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u,
    0x19a4c116u, 0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au, 0x5b9cca4fu, 0x682e6ff3u,
    0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u, 0x90befffau, 0xa4506cebu, 0xbef9a3f7u, 0xc67178f2u};

static uint32_t rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void add_block(uint32_t state[8], const unsigned char block[64])
{
    uint32_t w[64];
    for (int t = 0; t < 16; ++t)
        w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 | (uint32_t)block[4 * t + 2] << 8 |
               block[4 * t + 3];
    for (int t = 16; t < 64; ++t) {
        const uint32_t sigma0 = rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ w[t - 15] >> 3;
        const uint32_t sigma1 = rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ w[t - 2] >> 10;
        w[t] = sigma1 + w[t - 7] + sigma0 + w[t - 16];
    }
    uint32_t v[8];
    memcpy(v, state, sizeof v);
    for (int t = 0; t < 64; ++t) {
        const uint32_t sum1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
        const uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        const uint32_t t1 = v[7] + sum1 + choice + round_constants[t] + w[t];
        const uint32_t sum0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
        const uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        memmove(v + 1, v, 7 * sizeof v[0]);
        v[4] += t1;
        v[0] = t1 + sum0 + majority;
    }
    for (int k = 0; k < 8; ++k)
        state[k] += v[k];
}

void tilek_sha256_begin(tilek_sha256 *hash)
{
    static const uint32_t initial[8] = {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
                                        0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};
    memcpy(hash->state, initial, sizeof initial);
    hash->length = 0;
}

void tilek_sha256_add(tilek_sha256 *hash, const void *bytes, size_t size)
{
    const unsigned char *next = bytes;
    const size_t held = (size_t)(hash->length % 64);
    hash->length += size;
    if (held > 0) {
        const size_t taken = size < 64 - held ? size : 64 - held;
        memcpy(hash->block + held, next, taken);
        next += taken;
        size -= taken;
        if (held + taken < 64)
            return;
        add_block(hash->state, hash->block);
    }
    for (; size >= 64; next += 64, size -= 64)
        add_block(hash->state, next);
    if (size > 0)
        memcpy(hash->block, next, size);
}

void tilek_sha256_end(tilek_sha256 *hash, unsigned char digest[TILEK_SHA256_BYTES])
{
    static const unsigned char padding[64] = {0x80};
    const uint64_t bits = hash->length * 8;
    const size_t held = (size_t)(hash->length % 64);
    unsigned char length[8];
    for (int k = 0; k < 8; ++k)
        length[k] = (unsigned char)(bits >> (56 - 8 * k));
    tilek_sha256_add(hash, padding, held < 56 ? 56 - held : 120 - held);
    tilek_sha256_add(hash, length, sizeof length);
    for (int k = 0; k < TILEK_SHA256_BYTES; ++k)
        digest[k] = (unsigned char)(hash->state[k / 4] >> (24 - 8 * (k % 4)));
}
