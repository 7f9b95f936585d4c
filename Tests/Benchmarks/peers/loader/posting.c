// One connection posts, and every subscriber's connection receives.
#define _GNU_SOURCE
#include "peers.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { LARGEST_BATCH = 100, MOST_MESSAGES = 4000000 };

struct poster {
    int fd;
    char *frames;         // a batch of posts
    size_t frame_size, name_at, payload_at, at, size;
    long window, batch, first, least;
    double written, end;
};

static struct poster poster_on(int fd, long window, long first, long least) {
    struct poster p = {.fd = fd, .window = window, .first = first, .least = least};
    p.batch = window < LARGEST_BATCH ? window : LARGEST_BATCH;
    char *frame = malloc(payload_bytes + 256);
    p.frame_size = protocol->post(frame, payload_bytes, &p.payload_at);
    p.name_at = (char *)memmem(frame, p.payload_at, NAME, NAME_BYTES) - frame;
    memset(frame + p.payload_at, 'x', payload_bytes);
    p.frames = malloc(p.frame_size * p.batch);
    for (long i = 0; i < p.batch; i++) memcpy(p.frames + i * p.frame_size, frame, p.frame_size);
    free(frame);
    return p;
}

// A payload begins with the number of its message, which subscribers check.
static void number_post(struct poster *p, char *at, uint64_t number) {
    if (protocol->number) protocol->number(at, number);
    if (names) number_name(at + p->name_at, number % names);
    memcpy(at + p->payload_at, &number, sizeof number);
}

// The number of posts of the next write; 0 if nothing can be written yet, or all were posted.
static long next_batch(struct poster *p, struct session *s) {
    long posted = s->sent - p->first, count = p->window - (s->sent - s->done);
    if (posted >= MOST_MESSAGES || (posted >= p->least && now() >= p->end)) return 0;
    // Less than half a batch is not worth a write: the rest of the window is in flight, so there will be more room.
    if (count < (p->batch + 1) / 2) return 0;
    return count > p->batch ? p->batch : count;
}

// Writes while the window and the socket have room. Returns whether the socket is full.
static bool post(struct poster *p, struct session *s) {
    for (;;) {
        if (p->at == p->size) {
            long count = next_batch(p, s);
            if (count <= 0) return false;
            for (long i = 0; i < count; i++) number_post(p, p->frames + i * p->frame_size, s->sent + i);
            p->at = 0;
            p->size = count * p->frame_size;
            s->sent += count;
            p->written = now();
        }
        ssize_t n = write(p->fd, p->frames + p->at, p->size - p->at);
        if (n < 0 && errno == EAGAIN) return true;
        if (n < 0) fail("write: %s", strerror(errno));
        p->at += n;
    }
}

// The number of messages that every subscriber has, and that have a receipt if the protocol has receipts.
static long finished(struct session *s) {
    long connections = s->subscribers + protocol->has_receipts, least = s->sent;
    for (long i = 0; i < s->subscribers; i++)
        if (s->connections[i].count < least) least = s->connections[i].count;
    if (connections > s->subscribers && s->connections[s->subscribers].count < least)
        least = s->connections[s->subscribers].count;
    return least;
}

static void watch(int epoll, int operation, struct connection *c, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = c};
    if (epoll_ctl(epoll, operation, c->fd, &event)) fail("epoll: %s", strerror(errno));
}

struct session open_session(const char *address, long subscribers) {
    struct session s = {.subscribers = subscribers, .epoll = epoll_create1(0)};
    s.connections = calloc(subscribers + 1, sizeof *s.connections);
    for (long i = subscribers; i >= 0; i--) {      // the poster first
        struct connection *c = &s.connections[i];
        *c = connect_to(address, i < subscribers ? i : -1);
        protocol->greet(c);
        if (i < subscribers)
            protocol->subscribe(c);
        else if (protocol->open_poster)
            protocol->open_poster(c);
        fcntl(c->fd, F_SETFL, O_NONBLOCK);
        watch(s.epoll, EPOLL_CTL_ADD, c, EPOLLIN);
    }
    return s;
}

static void run(struct session *s, struct poster *p, double *trips) {
    bool was_full = false;
    for (;;) {
        bool is_full = post(p, s);
        if (is_full != was_full)
            watch(s->epoll, EPOLL_CTL_MOD, &s->connections[s->subscribers], EPOLLIN | (is_full ? EPOLLOUT : 0));
        was_full = is_full;
        if (s->done == s->sent && !is_full) return;
        struct epoll_event events[256];
        int count = epoll_wait(s->epoll, events, 256, STALL_SECONDS * 1000);
        if (count < 0 && errno == EINTR) continue;     // stopped and continued
        if (count <= 0) fail("nothing for %d s, after %ld of %ld messages", STALL_SECONDS, s->done, s->sent);
        for (int i = 0; i < count; i++)
            if (events[i].events & ~EPOLLOUT) receive(events[i].data.ptr);
        long before = s->done;
        s->done = finished(s);
        if (trips && s->done > before) trips[before - p->first] = now() - p->written;
    }
}

struct measurement measure(struct session *s, int pid, double seconds, long least, long window) {
    struct poster p = poster_on(s->connections[s->subscribers].fd, window, s->sent, least);
    struct measurement m = {.trips = window == 1 ? malloc(sizeof *m.trips * MOST_MESSAGES) : NULL};
    double processor = processor_seconds(pid), start = now();
    p.end = start + seconds;
    run(s, &p, m.trips);
    m.seconds = now() - start;
    m.processor = processor_seconds(pid) - processor;
    m.messages = s->sent - p.first;
    free(p.frames);
    return m;
}
