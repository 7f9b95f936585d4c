// load: posts to notifyd, pipelined or one by one, and checks that every subscriber gets all messages in order.
//
//   load fanout SOCKET SUBSCRIBERS MESSAGES PAYLOAD WINDOW BATCH PID [--each SUBSCRIPTIONS] [--no-receipts] [--rounds]
//   load names SOCKET NAMES MESSAGES PAYLOAD WINDOW BATCH PID [--rounds]
//   load durable SOCKET MESSAGES PAYLOAD WINDOW stored|synced PID [--rounds]
//   load replay SOCKET MESSAGES PAYLOAD WINDOW PID [--group MEMBERS | --rounds]
//   load subscriptions SOCKET SUBSCRIPTIONS
//   load values SOCKET NAMES MESSAGES PAYLOAD ROUNDS PID
//   load get SOCKET NAMES READS
//   load watch SOCKET NAMES
//   load spawn SECONDS PAYLOAD PROGRAM
//
// With --each, every subscriber's connection has SUBSCRIPTIONS matching subscriptions, and still gets each message
// once.
//
// `names` spreads its posts over NAMES names, which match no subscription.
//
// At most WINDOW messages are in flight, written BATCH at a time. With a WINDOW of 1, and for `durable`, load prints
// the times from the write of a message to its receipt. `replay` stores the messages first, and measures their delivery
// to a durable subscription with that window after a client attaches. With --group, MEMBERS clients attach and share
// the messages. `subscriptions` creates durable subscriptions without clients. `values` sets the values of NAMES names,
// and then stores MESSAGES and sets as many values in turns, in a random order of the names. `get` reads one random value
// after the other, and `watch` all of them, after `values`. `spawn` needs no daemon: it runs PROGRAM repeatedly with a payload on its standard input, and
// prints the runs per second. PID is the process id of the daemon, whose processor time and memory are read from /proc.
//
// With --rounds, each line of the standard input starts a round of MESSAGES on the same connections, and a line is
// printed when the round is complete. A batch is then written only when all deliveries and receipts of the previous
// batch have arrived, so that the daemon's reads, batches and flushes are the same in every round. `replay` stores the
// messages once, and delivers all of them in each round, because no round acknowledges them.
#include "load.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(struct load *load, struct result result) {
    long copies = load->subscribers ? load->subscribers : 1;
    double each = (double)load->messages * copies;
    printf("posts/s %.0f", load->messages / result.seconds);
    if (load->subscribers) printf("  deliveries/s %.0f", each / result.seconds);
    printf("  server-ns/%s %.0f  rss-MB %.1f", load->subscribers ? "delivery" : "post", result.processor / each * 1e9,
           result.memory);
    if (load->subscribers) printf("  kB/subscriber %.1f", result.growth * 1024 / copies);
    if (result.trips) {
        qsort(result.trips, load->messages, sizeof *result.trips, by_value);
        printf("  round-trip-us p50 %.1f p99 %.1f", result.trips[load->messages / 2] * 1e6,
               result.trips[load->messages * 99 / 100] * 1e6);
    }
    printf("\n");
}

static bool take_option(int *count, char **arguments, const char *option) {
    if (*count < 2 || strcmp(arguments[*count - 1], option)) return false;
    --*count;
    return true;
}

// The number after the option, which is at least 1; 0 without the option.
static long take_number(int *count, char **arguments, const char *option) {
    if (*count < 3 || strcmp(arguments[*count - 2], option)) return 0;
    *count -= 2;
    long number = atol(arguments[*count + 1]);
    if (number < 1) fail("the number of %s is at least 1", option);
    return number;
}

static struct load parse(int count, char **arguments) {
    struct load load = {0};
    load.members = take_number(&count, arguments, "--group");
    load.rounds = take_option(&count, arguments, "--rounds");
    load.receipts = !take_option(&count, arguments, "--no-receipts");
    load.each = take_number(&count, arguments, "--each");
    const char *mode = count > 1 ? arguments[1] : "";
    if (count == 9 && (!strcmp(mode, "fanout") || (load.receipts && !strcmp(mode, "names")))) {
        *(*mode == 'n' ? &load.names : &load.subscribers) = atol(arguments[3]);
        load.messages = atol(arguments[4]);
        load.payload = atol(arguments[5]);
        load.window = atol(arguments[6]);
        load.batch = atol(arguments[7]);
    } else if (load.receipts && ((count == 8 && !strcmp(mode, "durable")) || (count == 7 && !strcmp(mode, "replay")))) {
        load.messages = atol(arguments[3]);
        load.payload = atol(arguments[4]);
        load.window = load.batch = atol(arguments[5]);
        load.durability = count == 8 && !strcmp(arguments[6], "synced") ? SYNCED : STORED;
        if (load.batch > 100) load.batch = 100;
    } else if (count == 4 && load.receipts && !strcmp(mode, "subscriptions")) {
        load.messages = atol(arguments[3]);
        load.payload = 8, load.window = load.batch = 1;
    } else if (count == 8 && load.receipts && !strcmp(mode, "values")) {
        load.names = atol(arguments[3]);
        load.messages = atol(arguments[4]);
        load.payload = atol(arguments[5]);
        load.window = 2000, load.batch = 100;
        load.durability = STORED;
        if (load.names < 1) fail("NAMES is at least 1");
    } else {
        fail("fanout SOCKET SUBSCRIBERS MESSAGES PAYLOAD WINDOW BATCH PID [--each SUBSCRIPTIONS] [--no-receipts]"
             " [--rounds]\n"
             "   or names SOCKET NAMES MESSAGES PAYLOAD WINDOW BATCH PID [--rounds]\n"
             "   or durable SOCKET MESSAGES PAYLOAD WINDOW stored|synced PID [--rounds]\n"
             "   or replay SOCKET MESSAGES PAYLOAD WINDOW PID [--group MEMBERS | --rounds]\n"
             "   or subscriptions SOCKET SUBSCRIPTIONS\n"
             "   or values SOCKET NAMES MESSAGES PAYLOAD ROUNDS PID\n"
             "   or get SOCKET NAMES READS\n"
             "   or watch SOCKET NAMES\n"
             "   or spawn SECONDS PAYLOAD PROGRAM");
    }
    load.pid = atoi(arguments[count - 1]);
    load.socket = arguments[2];
    if (load.batch > load.window) load.batch = load.window;
    if (load.messages < 1 || load.payload < 8 || load.payload > READ_BYTES / 2 || load.window < 1 || load.batch < 1)
        fail("MESSAGES, WINDOW and BATCH are at least 1, PAYLOAD is 8 to %d", READ_BYTES / 2);
    if (!load.receipts && !load.subscribers) fail("without receipts and subscribers there is no end to wait for");
    if (load.each && !load.subscribers) fail("--each needs subscribers");
    return load;
}

int main(int count, char **arguments) {
    if (count == 5 && !strcmp(arguments[1], "spawn")) {
        long payload = atol(arguments[3]);
        if (payload < 1 || payload > 4096) fail("PAYLOAD is 1 to 4096");
        printf("commands/s %.0f\n", spawn_all(atol(arguments[2]), payload, arguments[4]));
        return 0;
    }
    if (count == 5 && !strcmp(arguments[1], "get") && atol(arguments[3]) > 0 && atol(arguments[4]) > 0) {
        read_values(arguments[2], atol(arguments[3]), atol(arguments[4]));
        return 0;
    }
    if (count == 4 && !strcmp(arguments[1], "watch") && atol(arguments[3]) > 0) {
        watch_values(arguments[2], atol(arguments[3]));
        return 0;
    }
    struct load load = parse(count, arguments);
    if (!strcmp(arguments[1], "values")) {
        set_values(&load, atol(arguments[6]));
        return 0;
    }
    if (load.rounds) {
        (!strcmp(arguments[1], "replay") ? replay_rounds : post_rounds)(&load);
        return 0;
    }
    if (!strcmp(arguments[1], "subscriptions")) {
        create_subscriptions(&load);
        return 0;
    }
    print(&load, !strcmp(arguments[1], "replay") ? replay(&load) : post_all(&load));
    return 0;
}
