#include "epoll_create.h"

#ifdef __linux__
#include <sys/epoll.h>
#endif

/* musl defines epoll_create and epoll_create1 in one file, so a static program would have two definitions. */
#ifdef __GLIBC__
#include <errno.h>

/* Hidden, so that this program uses the definition even if the C library was loaded before, as for a plug-in, and that
   shared libraries keep the C library's function. */
__attribute__((visibility("hidden"))) int epoll_create(int size) {
    if (size <= 0) {
        errno = EINVAL;
        return -1;
    }
    return epoll_create1(EPOLL_CLOEXEC);
}
#endif
