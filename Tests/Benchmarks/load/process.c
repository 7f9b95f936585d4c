// The figures come from /proc.
#define _GNU_SOURCE
#include "process.h"
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    exit(1);
}

double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

double processor_seconds(int pid) {
    char path[300];
    double sum = 0;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    if (!tasks) fail("there is no process %d", pid);
    for (struct dirent *task; (task = readdir(tasks));) {
        if (task->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", pid, task->d_name);
        FILE *file = fopen(path, "r");
        unsigned long long ns;
        if (file && fscanf(file, "%llu", &ns) == 1) sum += ns * 1e-9;
        if (file) fclose(file);
    }
    closedir(tasks);
    return sum;
}

double resident_megabytes(int pid) {
    char path[64];
    long total, resident = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", pid);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%ld %ld", &total, &resident) != 2) fail("%s cannot be read", path);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1048576.0);
}
