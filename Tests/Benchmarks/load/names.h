// The names of the posts: NAME, or, for several names, NUMBERED_NAME with the number of the name as its last digits.
#pragma once
#include <stdint.h>

static const char NAME[] = "bench.topic";
static const char NUMBERED_NAME[] = "bench.topic.00000000", NUMBERED_PATTERN[] = "bench.topic.>";
enum { NAME_BYTES = sizeof NAME - 1, NUMBERED_NAME_BYTES = sizeof NUMBERED_NAME - 1, DIGITS = 8 };

// Writes the number of the name, in hexadecimal digits.
static inline void number_name(char *name, uint32_t number) {
    for (int i = NUMBERED_NAME_BYTES; i-- > NUMBERED_NAME_BYTES - DIGITS; number >>= 4)
        name[i] = "0123456789abcdef"[number & 15];
}
