#include <spawn.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/types.h>

// Declared only with _GNU_SOURCE, without which Swift imports the system's headers.
int memfd_create(const char *name, unsigned int flags);
int pipe2(int ends[2], int flags);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
const char *sigabbrev_np(int signal);
long syscall(long number, ...);
static const unsigned int notifyctl_MFD_CLOEXEC = 1;

// The C library has it since version 2.36.
static inline int notifyctl_pidfd_open(pid_t process) { return (int)syscall(SYS_pidfd_open, process, 0); }

// The number of processors on which this process may run.
static inline int notifyd_processor_count(void) {
    unsigned long mask[128] = {0};
    int count = 0;
    syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
    for (int i = 0; i < 128; i++) count += __builtin_popcountl(mask[i]);
    return count;
}
