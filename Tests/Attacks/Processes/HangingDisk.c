// Preloaded into notifyd: simulates a hanging disk. Writes and flushes block while the file that HANGING_DISK names
// exists.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static void wait_for_disk(void) {
    const char *path = getenv("HANGING_DISK");
    while (path && access(path, F_OK) == 0) usleep(10000);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
    static ssize_t (*real)(int, const void *, size_t, off64_t);
    if (!real) real = dlsym(RTLD_NEXT, "pwrite64");
    wait_for_disk();
    return real(descriptor, bytes, count, offset);
}

int fdatasync(int descriptor) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "fdatasync");
    wait_for_disk();
    return real(descriptor);
}
