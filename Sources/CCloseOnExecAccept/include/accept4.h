#ifndef NOTIFYD_ACCEPT4_H
#define NOTIFYD_ACCEPT4_H

#include <sys/socket.h>

/* Replaces the C library's accept4(2). SwiftNIO calls it for each connection without SOCK_CLOEXEC, so a program that
   another thread starts would inherit the connection. This function always sets SOCK_CLOEXEC.

   For the daemon alone, because other programs may accept a connection to pass it on to a program. */
int accept4(int socket, struct sockaddr *address, socklen_t *length, int flags);

#endif
