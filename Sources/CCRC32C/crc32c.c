#include "crc32c.h"

#include <string.h>

/* The Castagnoli polynomial, bits reversed. */
#define POLYNOMIAL 0x82F63B78u

static uint32_t table[256];

__attribute__((constructor)) static void make_table(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ ((crc & 1) ? POLYNOMIAL : 0);
        table[byte] = crc;
    }
}

uint32_t notifyd_crc32c_portable(uint32_t crc, const void *bytes, size_t count) {
    const uint8_t *next = bytes;
    crc = ~crc;
    for (; count > 0; count--) crc = (crc >> 8) ^ table[(crc ^ *next++) & 0xFF];
    return ~crc;
}

#if defined(__x86_64__)

__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const void *bytes, size_t count) {
    const uint8_t *next = bytes;
    uint64_t wide = ~crc;
    for (; count >= 8; count -= 8, next += 8) {
        uint64_t word;
        memcpy(&word, next, 8);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    crc = (uint32_t)wide;
    for (; count > 0; count--) crc = __builtin_ia32_crc32qi(crc, *next++);
    return ~crc;
}

uint32_t notifyd_crc32c(uint32_t crc, const void *bytes, size_t count) {
    if (__builtin_cpu_supports("sse4.2")) return crc32c_sse42(crc, bytes, count);
    return notifyd_crc32c_portable(crc, bytes, count);
}

#elif defined(__aarch64__)

#include <arm_acle.h>
#include <sys/auxv.h>

/* HWCAP_CRC32 of the kernel's interface. */
#define HAS_CRC32 (1 << 7)

__attribute__((target("crc"))) static uint32_t crc32c_arm(uint32_t crc, const void *bytes, size_t count) {
    const uint8_t *next = bytes;
    crc = ~crc;
    for (; count >= 8; count -= 8, next += 8) {
        uint64_t word;
        memcpy(&word, next, 8);
        crc = __crc32cd(crc, word);
    }
    for (; count > 0; count--) crc = __crc32cb(crc, *next++);
    return ~crc;
}

uint32_t notifyd_crc32c(uint32_t crc, const void *bytes, size_t count) {
    if (getauxval(AT_HWCAP) & HAS_CRC32) return crc32c_arm(crc, bytes, count);
    return notifyd_crc32c_portable(crc, bytes, count);
}

#else

uint32_t notifyd_crc32c(uint32_t crc, const void *bytes, size_t count) {
    return notifyd_crc32c_portable(crc, bytes, count);
}

#endif
