#include <linux/stat.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>

// Declared only with _GNU_SOURCE, without which Swift imports the system's headers.
int memfd_create(const char *name, unsigned int flags);
int pipe2(int ends[2], int flags);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
const char *sigabbrev_np(int signal);
long syscall(long number, ...);
int statx(int folder, const char *path, int flags, unsigned int mask, struct statx *status);
static const unsigned int notifyctl_MFD_CLOEXEC = 1;
static const int notifyd_O_PATH = 010000000;
static const int notifyd_AT_EMPTY_PATH = 0x1000;

// The C library has it since version 2.36.
static inline int notifyctl_pidfd_open(pid_t process) { return (int)syscall(SYS_pidfd_open, process, 0); }

// prctl has variable arguments, which Swift can't pass.
static inline int notifyctl_set_death_signal(int signal) {
    return prctl(PR_SET_PDEATHSIG, (unsigned long)signal, 0UL, 0UL, 0UL);
}
