#include <stddef.h>
#include <stdint.h>

/// Runs libFuzzer with the arguments of a program. The toolchain has the library, but no header for it.
int LLVMFuzzerRunDriver(int *count, char ***arguments, int (*test)(const uint8_t *input, size_t size));
