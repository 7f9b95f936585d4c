// Many durable subscriptions to one name, without attached clients.
#include "load.h"
#include <stdio.h>
#include <unistd.h>

void create_subscriptions(struct load *load) {
    struct connection creator = connect_to(load->socket);
    for (long i = 0; i < load->messages; i++) {
        char durable[32];
        snprintf(durable, sizeof durable, "load-%ld", i);
        subscribe(creator.fd, durable, 0);
        detach(creator.fd);
    }
    close(creator.fd);
}
