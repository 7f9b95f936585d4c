#include "epoll_create.h"

#ifdef __linux__
#include <sys/epoll.h>
#endif

/* musl defines epoll_create and epoll_create1 in one file, so a static program would have two definitions. */
#ifdef __GLIBC__
#include <errno.h>

/* Hidden for two reasons: this program or plug-in uses the definition even if the C library was loaded before, and
   other shared libraries keep the C library's function. */
__attribute__((visibility("hidden"))) int epoll_create(int size) {
    if (size <= 0) {
        errno = EINVAL;
        return -1;
    }
    return epoll_create1(EPOLL_CLOEXEC);
}
#endif
