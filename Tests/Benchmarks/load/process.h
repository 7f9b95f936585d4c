// Functions that the load generators share: the end after an error, and figures about the server's process.
#pragma once

// Prints the program's name and the message, and exits with 1.
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
// The seconds of a monotonic clock.
double now(void);
// The processor time of all threads of the process, in seconds.
double processor_seconds(int pid);
double resident_megabytes(int pid);
