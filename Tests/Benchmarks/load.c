// load: posts to notifyd as fast as it goes, or one by one, and checks that every subscriber gets all of it in order.
//
//   load fanout SOCKET SUBSCRIBERS MESSAGES PAYLOAD WINDOW BATCH PID [--no-receipts]
//   load durable SOCKET MESSAGES PAYLOAD WINDOW stored|synced PID
//
// At most WINDOW messages are on their way, written BATCH at a time; with a WINDOW of 1 it prints round trips. PID is the
// daemon's, whose time on the processor and memory are read from /proc. Frames are as NotifyWire.docc/Protocol.md says;
// this file takes the machine to be little-endian as they are.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { HEADER = 8, POST_FIXED = 16, DELIVER_FIXED = 36, READ_BYTES = 1 << 18, STALL_MS = 20000 };
enum { HELLO = 0x01, POST = 0x02, SUBSCRIBE = 0x03, WELCOME = 0x41, RECEIPT = 0x42, SUBSCRIBED = 0x43, DELIVER = 0x50,
       GAP = 0x53, ERROR = 0x60, CLOSING = 0x61 };
static const char NAME[] = "bench.topic";
enum { NAME_BYTES = sizeof NAME - 1 };

struct connection {
    int fd;
    char *kept;           // the beginning of a frame whose rest has not come
    size_t kept_bytes;
    uint64_t count;       // deliveries, or receipts, so far
    uint64_t sequence;    // of the last delivery
};

static char input[2 * READ_BYTES];

static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("load: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    exit(1);
}

// ---- what the kernel says

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static double processor_seconds(int pid) {
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

static double resident_megabytes(int pid) {
    char path[64];
    long total, resident = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", pid);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%ld %ld", &total, &resident) != 2) fail("%s cannot be read", path);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1048576.0);
}

// ---- frames

static uint64_t u64(const char *p) { uint64_t v; memcpy(&v, p, 8); return v; }
static uint32_t u32(const char *p) { uint32_t v; memcpy(&v, p, 4); return v; }
static uint16_t u16(const char *p) { uint16_t v; memcpy(&v, p, 2); return v; }

static char *put(char *at, const void *bytes, size_t count) {
    memcpy(at, bytes, count);
    return at + count;
}

static size_t header(char *at, uint32_t body, uint8_t kind, uint8_t flags) {
    memset(at, 0, HEADER);
    memcpy(at, &body, 4);
    at[4] = kind;
    at[5] = flags;
    return HEADER + body;
}

static void send_all(int fd, const char *bytes, size_t count) {
    while (count) {
        ssize_t n = write(fd, bytes, count);
        if (n < 0) fail("write: %s", strerror(errno));
        bytes += n;
        count -= n;
    }
}

// Reads one whole frame into `input`, before the load begins.
static void expect(int fd, uint8_t kind) {
    size_t have = 0, want = HEADER;
    while (have < want) {
        ssize_t n = read(fd, input + have, want - have);
        if (n <= 0) fail("the daemon closed the connection");
        have += n;
        if (have == HEADER) want = HEADER + u32(input);
        if (want > READ_BYTES) fail("a frame of %zu bytes", want);
    }
    if ((uint8_t)input[4] == ERROR) fail("%.*s", (int)(want - HEADER - 24), input + HEADER + 24);
    if ((uint8_t)input[4] != kind) fail("frame 0x%02x instead of 0x%02x", (uint8_t)input[4], kind);
}

static struct connection connect_to(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct connection c = {.fd = socket(AF_UNIX, SOCK_STREAM, 0), .kept = malloc(READ_BYTES)};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    if (connect(c.fd, (void *)&address, sizeof address)) fail("%s: %s", path, strerror(errno));
    char hello[HEADER + 28] = {0};
    size_t size = header(hello, 28, HELLO, 0);
    memcpy(hello + HEADER, "NTFY\1\0\1\0", 8);
    int instance[4] = {getpid(), c.fd};
    memcpy(hello + HEADER + 12, instance, 16);
    send_all(c.fd, hello, size);
    expect(c.fd, WELCOME);
    return c;
}

static void subscribe(int fd) {
    char frame[HEADER + 24 + 1 + NAME_BYTES] = {0};
    size_t size = header(frame, sizeof frame - HEADER, SUBSCRIBE, 0);
    frame[HEADER] = frame[HEADER + 8] = 1;             // request 1, subscription 1
    memset(frame + HEADER + 16, 0xff, 4);              // no bound on credit
    frame[HEADER + 23] = 1;                            // one pattern
    frame[HEADER + 24] = NAME_BYTES;
    memcpy(frame + HEADER + 25, NAME, NAME_BYTES);
    send_all(fd, frame, size);
    expect(fd, SUBSCRIBED);
}

// One post; its payload begins with the number of the message, so that the subscriber can tell which it is.
static size_t encode_post(char *at, size_t payload, uint8_t durability, bool receipt) {
    size_t size = header(at, POST_FIXED + NAME_BYTES + payload, POST, receipt);
    memset(at + HEADER, 0, POST_FIXED);
    at[HEADER + 10] = NAME_BYTES;
    at[HEADER + 13] = durability;
    memset(put(at + HEADER + POST_FIXED, NAME, NAME_BYTES), 'x', payload);
    return size;
}

static void number_post(char *at, uint64_t number) {
    uint64_t request = number + 1;
    memcpy(at + HEADER, &request, 8);
    memcpy(at + HEADER + POST_FIXED + NAME_BYTES, &number, 8);
}

// ---- what comes back

static void check_delivery(struct connection *c, const char *body) {
    uint64_t sequence = u64(body);
    size_t payload = DELIVER_FIXED + (uint8_t)body[30] + (uint8_t)body[31] + (uint8_t)body[32] + u16(body + 28);
    if (sequence <= c->sequence) fail("sequence %lu after %lu", sequence, c->sequence);
    if (u64(body + payload) != c->count) fail("message %lu instead of %lu", u64(body + payload), c->count);
    c->sequence = sequence;
    c->count++;
}

static void handle(struct connection *c, const char *frame) {
    const char *body = frame + HEADER;
    switch ((uint8_t)frame[4]) {
    case DELIVER: check_delivery(c, body); break;
    case RECEIPT:
        if (u64(body) != c->count + 1) fail("receipt %lu instead of %lu", u64(body), c->count + 1);
        c->count++;
        break;
    case GAP: fail("a gap of %lu messages", u64(body + 8)); break;
    case ERROR: fail("refused: %.*s", (int)u32(frame) - 24, body + 24); break;
    case CLOSING: fail("the daemon is going"); break;
    }
}

static void receive(struct connection *c) {
    memcpy(input, c->kept, c->kept_bytes);
    ssize_t n = read(c->fd, input + c->kept_bytes, READ_BYTES);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) fail("the daemon closed a connection");
    char *at = input, *end = input + c->kept_bytes + n;
    while (end - at >= HEADER && end - at >= HEADER + (ssize_t)u32(at)) {
        handle(c, at);
        at += HEADER + u32(at);
    }
    c->kept_bytes = end - at;
    if (c->kept_bytes > READ_BYTES) fail("a frame over %d bytes", READ_BYTES);
    memcpy(c->kept, at, c->kept_bytes);
}

// ---- the load

struct load {
    const char *mode, *socket, *durability;
    long subscribers, messages, payload, window, batch;
    int pid;
    bool receipts;
};

struct poster {
    struct connection *connection;
    char *frames;         // a batch of posts
    size_t frame_size, at, size;
    long sent;
    double written;
};

static long finished(struct connection *connections, struct load *load) {
    long least = load->messages;
    for (long i = 0; i < load->subscribers; i++)
        if ((long)connections[i].count < least) least = connections[i].count;
    if (load->receipts && (long)connections[load->subscribers].count < least)
        least = connections[load->subscribers].count;
    return least;
}

// Writes while the window and the socket have room. Returns whether the socket is full.
static bool post(struct poster *p, struct load *load, long done) {
    for (;;) {
        if (p->at == p->size) {
            long count = load->window - (p->sent - done);
            if (count > load->messages - p->sent) count = load->messages - p->sent;
            // Half a batch is not worth a write while more of the window is on its way.
            if (count <= 0 || (count < load->batch / 2 && count < load->messages - p->sent)) return false;
            if (count > load->batch) count = load->batch;
            for (long i = 0; i < count; i++) number_post(p->frames + i * p->frame_size, p->sent + i);
            p->at = 0;
            p->size = count * p->frame_size;
            p->sent += count;
            p->written = now();
        }
        ssize_t n = write(p->connection->fd, p->frames + p->at, p->size - p->at);
        if (n < 0 && errno == EAGAIN) return true;
        if (n < 0) fail("write: %s", strerror(errno));
        p->at += n;
    }
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(struct load *load, double seconds, double processor, double memory, double growth, double *trips) {
    bool durable = !load->subscribers;
    double each = (double)load->messages * (durable ? 1 : load->subscribers);
    printf("posts/s %.0f", load->messages / seconds);
    if (!durable) printf("  deliveries/s %.0f", each / seconds);
    printf("  server-ns/%s %.0f  rss-MB %.1f", durable ? "post" : "delivery", processor / each * 1e9, memory);
    if (!durable) printf("  kB/subscriber %.1f", growth * 1024 / load->subscribers);
    if (trips) {
        qsort(trips, load->messages, sizeof *trips, by_value);
        printf("  round-trip-us p50 %.1f p99 %.1f", trips[load->messages / 2] * 1e6,
               trips[load->messages * 99 / 100] * 1e6);
    }
    printf("\n");
}

static void watch(int epoll, int operation, struct connection *c, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = c};
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    if (epoll_ctl(epoll, operation, c->fd, &event)) fail("epoll: %s", strerror(errno));
}

static void run(struct load *load) {
    struct connection *connections = calloc(load->subscribers + 1, sizeof *connections);
    double before = resident_megabytes(load->pid);
    int epoll = epoll_create1(0);
    for (long i = 0; i < load->subscribers; i++) {
        connections[i] = connect_to(load->socket);
        subscribe(connections[i].fd);
        watch(epoll, EPOLL_CTL_ADD, &connections[i], EPOLLIN);
    }
    double growth = resident_megabytes(load->pid) - before;
    struct connection *posting = &connections[load->subscribers];
    *posting = connect_to(load->socket);
    watch(epoll, EPOLL_CTL_ADD, posting, EPOLLIN);

    uint8_t durability = !load->durability ? 0 : !strcmp(load->durability, "synced") ? 3 : 2;
    struct poster p = {.connection = posting, .frame_size = HEADER + POST_FIXED + NAME_BYTES + load->payload};
    p.frames = malloc(p.frame_size * load->batch);
    for (long i = 0; i < load->batch; i++)
        encode_post(p.frames + i * p.frame_size, load->payload, durability, load->receipts);
    double *trips = load->window == 1 ? malloc(sizeof *trips * load->messages) : NULL;

    long done = 0;
    bool was_full = false;
    double processor = processor_seconds(load->pid), start = now();
    while (done < load->messages) {
        bool is_full = post(&p, load, done);
        if (is_full != was_full) watch(epoll, EPOLL_CTL_MOD, posting, EPOLLIN | (is_full ? EPOLLOUT : 0));
        was_full = is_full;
        struct epoll_event events[256];
        int count = epoll_wait(epoll, events, 256, STALL_MS);
        if (count <= 0) fail("nothing came for %d s, after %ld of %ld messages", STALL_MS / 1000, done, load->messages);
        for (int i = 0; i < count; i++)
            if (events[i].events & ~EPOLLOUT) receive(events[i].data.ptr);
        long before_this = done;
        done = finished(connections, load);
        if (trips && done > before_this) trips[before_this] = now() - p.written;
    }
    double seconds = now() - start;
    print(load, seconds, processor_seconds(load->pid) - processor, resident_megabytes(load->pid), growth, trips);
}

int main(int count, char **arguments) {
    struct load load = {.receipts = true};
    if (count > 1 && !strcmp(arguments[count - 1], "--no-receipts")) {
        load.receipts = false;
        count--;
    }
    if (count == 9 && !strcmp(arguments[1], "fanout")) {
        load.subscribers = atol(arguments[3]);
        load.messages = atol(arguments[4]);
        load.payload = atol(arguments[5]);
        load.window = atol(arguments[6]);
        load.batch = atol(arguments[7]);
        load.pid = atoi(arguments[8]);
    } else if (count == 8 && !strcmp(arguments[1], "durable") && load.receipts) {
        load.messages = atol(arguments[3]);
        load.payload = atol(arguments[4]);
        load.window = load.batch = atol(arguments[5]);
        load.durability = arguments[6];
        load.pid = atoi(arguments[7]);
        if (load.batch > 100) load.batch = 100;
    } else {
        fail("fanout SOCKET SUBSCRIBERS MESSAGES PAYLOAD WINDOW BATCH PID [--no-receipts]\n"
             "   or durable SOCKET MESSAGES PAYLOAD WINDOW stored|synced PID");
    }
    load.socket = arguments[2];
    if (load.batch > load.window) load.batch = load.window;
    if (load.messages < 1 || load.payload < 8 || load.payload > READ_BYTES / 2 || load.window < 1 || load.batch < 1)
        fail("MESSAGES, WINDOW and BATCH are at least 1, PAYLOAD is 8 to %d", READ_BYTES / 2);
    if (!load.receipts && !load.subscribers) fail("without receipts and subscribers nothing tells when it is over");
    run(&load);
    return 0;
}
