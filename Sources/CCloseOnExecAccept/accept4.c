#include "accept4.h"

#include <sys/syscall.h>
#include <unistd.h>

/* Hidden, so that shared libraries keep the C library's function. */
__attribute__((visibility("hidden"))) int accept4(
    int socket, struct sockaddr *address, socklen_t *length, int flags) {
    return (int)syscall(SYS_accept4, socket, address, length, flags | SOCK_CLOEXEC);
}
