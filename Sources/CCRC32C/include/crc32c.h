#ifndef NOTIFYD_CRC32C_H
#define NOTIFYD_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues a CRC-32C (Castagnoli polynomial, as in RFC 3720) with more bytes. The CRC of no bytes is 0. */
uint32_t notifyd_crc32c(uint32_t crc, const void *bytes, size_t count);

/* The same without the processor's instructions, for tests. */
uint32_t notifyd_crc32c_portable(uint32_t crc, const void *bytes, size_t count);

#endif
