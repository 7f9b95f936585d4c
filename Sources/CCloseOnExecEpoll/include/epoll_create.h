#ifndef NOTIFYD_EPOLL_CREATE_H
#define NOTIFYD_EPOLL_CREATE_H

/* Replaces the C library's epoll_create(2), which SwiftNIO calls for each event loop. It opens a descriptor without
   close-on-exec, so that a program which another thread starts would inherit it. This one opens it as epoll_create1(2)
   does with EPOLL_CLOEXEC.

   The linker uses it in every program that contains this target, for all code that is linked into the same program or
   library, and for no other library. It suits any code: what an epoll descriptor reports depends on the open files of
   the process that registered them (see "Questions and answers" in epoll(7)), so that it is of no use to another
   program. */
int epoll_create(int size);

#endif
