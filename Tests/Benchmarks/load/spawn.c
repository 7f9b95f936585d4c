// Runs a program repeatedly with a payload on its standard input, one run after another.
#include "load.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void run(const char *program, const char *payload, long size) {
    int ends[2];
    if (pipe(ends)) fail("no pipe");
    pid_t child = fork();
    if (child < 0) fail("can't fork");
    if (!child) {
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]), close(ends[1]);
        execl(program, program, (char *)0);
        _exit(127);
    }
    close(ends[0]);
    // The program may have exited already.
    if (write(ends[1], payload, size) != size && errno != EPIPE) fail("the pipe takes less than %ld bytes", size);
    close(ends[1]);
    int status;
    if (waitpid(child, &status, 0) != child || status) fail("%s failed", program);
}

double spawn_all(long seconds, long size, const char *program) {
    signal(SIGPIPE, SIG_IGN);
    char *payload = calloc(1, size);
    double start = now();
    long count = 0;
    for (; now() - start < seconds; count++) run(program, payload, size);
    free(payload);
    return count / (now() - start);
}
