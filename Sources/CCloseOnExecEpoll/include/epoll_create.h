#ifndef NOTIFYD_EPOLL_CREATE_H
#define NOTIFYD_EPOLL_CREATE_H

/* Replaces glibc's epoll_create(2), which SwiftNIO calls for each event loop. (musl's is not replaced.) The C library's
   function opens a descriptor without close-on-exec, so a program that another thread starts would inherit the
   descriptor. This function opens it as epoll_create1(2) does with EPOLL_CLOEXEC.

   Replaces the function for all code that is statically linked into the same program or library. Other shared libraries
   keep the C library's function. No program needs the inheritance: an inherited epoll descriptor reports the files of
   the parent (see "Questions and answers" in epoll(7)), so a started program can't use it. */
int epoll_create(int size);

#endif
