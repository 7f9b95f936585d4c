// What the load generators share: the end after an error, and figures about the server's process.
#pragma once

// Prints the program's name and the message, and exits with 1.
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Seconds of a clock that only moves forward.
double now(void);
// Seconds that all threads of the process have been on a processor.
double processor_seconds(int pid);
double resident_megabytes(int pid);
