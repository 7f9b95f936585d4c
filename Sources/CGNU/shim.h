#include <spawn.h>

// Declared only with _GNU_SOURCE, without which Swift imports the system's headers.
int memfd_create(const char *name, unsigned int flags);
int pipe2(int ends[2], int flags);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
const char *sigabbrev_np(int signal);
static const unsigned int notifyctl_MFD_CLOEXEC = 1;
