// A small broker, as mosquitto reads and writes, over the sockets of the plugin: clients send packets in pieces, read late or not at
// all, and go away; each packet is passed on to some of them. What was taken and passed on is compared with what was sent.
// Built by SocketsTests with the sanitizers.
//
// Arguments: seed, rounds.

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define read servedRead
#define write servedWrite
#define close servedClose
#define epoll_ctl servedControl
#define epoll_wait servedWait
ssize_t read(int, void *, size_t);
ssize_t write(int, const void *, size_t);
int close(int);
int epoll_ctl(int, int, int, struct epoll_event *);
int epoll_wait(int, struct epoll_event *, int, int);
#include "../../../Sources/CBrokerPlugin/Sockets.c"
#undef read
#undef write
#undef close
#undef epoll_ctl
#undef epoll_wait

enum { clientsMaximum = 300, clientsUsual = 24, bodyMaximum = 20000, headSize = 3 };

static uint64_t state;

static uint64_t randomNumber(void) {
    uint64_t mixed = (state += 0x9e3779b97f4a7c15u);
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    return mixed ^ mixed >> 31;
}

static size_t below(size_t bound) { return bound ? randomNumber() % bound : 0; }

static void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

/// Bytes in order.
struct queue {
    uint8_t *bytes;
    size_t start, end, room;
};

static void put(struct queue *queue, const void *bytes, size_t count) {
    if (queue->end + count > queue->room) {
        queue->room = (queue->end + count) * 2;
        queue->bytes = realloc(queue->bytes, queue->room);
    }
    if (count) memcpy(queue->bytes + queue->end, bytes, count);
    queue->end += count;
}

static size_t left(const struct queue *queue) { return queue->end - queue->start; }

struct client {
    /// The broker's end and the client's; -1 once closed.
    int near, far;
    /// What the client has yet to send, what it sent whole, and what it is to receive, as the twin has it.
    struct queue unsent, expected;
    uint32_t sent, taken;
    bool isDeaf;
    // The broker's.
    uint8_t head[headSize], body[bodyMaximum];
    size_t have;
    struct queue out;
    uint32_t events;
};

static struct client clients[clientsMaximum];
static int count, epollOfAll;
static size_t passedOn;
static bool keepsAll;

static void fill(uint8_t *body, size_t size, uint32_t number) {
    for (size_t index = 0; index < size; index++) body[index] = (uint8_t)(number * 31 + index * 7);
}

// MARK: The broker, as mosquitto does it

static void watch(struct client *client, uint32_t events) {
    if (client->events == events) return;
    struct epoll_event event = {.events = events, .data.ptr = client};
    // It adds what is there already, and changes it where that fails.
    if (servedControl(epollOfAll, EPOLL_CTL_ADD, client->near, &event) != 0
        && (errno != EEXIST || servedControl(epollOfAll, EPOLL_CTL_MOD, client->near, &event) != 0)) {
        fail("epoll_ctl");
    }
    client->events = events;
}

static void hangUp(struct client *client) {
    if (client->near < 0) return;
    servedControl(epollOfAll, EPOLL_CTL_DEL, client->near, &(struct epoll_event){0});
    servedClose(client->near);
    client->near = -1;
}

static void writeOut(struct client *client) {
    if (client->near < 0) return;
    if (left(&client->out)) watch(client, EPOLLIN | EPOLLOUT);
    while (left(&client->out)) {
        // A packet, or what is left of it.
        size_t part = left(&client->out), packet = 1 + below(9000);
        if (part > packet) part = packet;
        ssize_t done = servedWrite(client->near, client->out.bytes + client->out.start, part);
        if (done < 0 && errno == EAGAIN) return;
        if (done <= 0) return hangUp(client);
        client->out.start += (size_t)done;
    }
    client->out.start = client->out.end = 0;
    watch(client, EPOLLIN);
}

static void passOn(struct client *from) {
    size_t size = (size_t)from->head[1] << 8 | from->head[2];
    uint8_t body[bodyMaximum];
    fill(body, size, from->taken);
    if (from->head[0] != 'P' || memcmp(body, from->body, size) != 0) fail("a packet is not what was sent");
    from->taken++;
    if (keepsAll) return;
    for (int index = 0; index < count; index++) {
        struct client *to = &clients[index];
        if (to->near < 0 || below(4)) continue;
        put(&to->out, from->head, headSize);
        put(&to->out, body, size);
        put(&to->expected, from->head, headSize);
        put(&to->expected, body, size);
        passedOn++;
        writeOut(to);
    }
}

/// One packet, or what is there of it.
static void readIn(struct client *client) {
    while (client->near >= 0) {
        size_t size = client->have < headSize ? 0 : (size_t)client->head[1] << 8 | client->head[2];
        if (client->have >= headSize && client->have - headSize == size) {
            client->have = 0;
            return passOn(client);
        }
        bool isHead = client->have < headSize;
        void *to = isHead ? client->head + client->have : client->body + client->have - headSize;
        ssize_t got = servedRead(client->near, to, isHead ? 1 : size - (client->have - headSize));
        if (got < 0 && errno == EAGAIN) return;
        if (got <= 0) return hangUp(client);
        client->have += (size_t)got;
    }
}

/// A round with so many events at most; whether anything was said.
static bool turn(size_t maximum) {
    struct epoll_event events[clientsMaximum];
    int said = servedWait(epollOfAll, events, (int)maximum, 0);
    bool isGiven[clientsMaximum] = {0};
    for (int index = 0; index < said; index++) {
        struct client *client = events[index].data.ptr;
        if (isGiven[client - clients]) fail("a socket twice in a round");
        isGiven[client - clients] = true;
        // Another one of this round may have had it closed.
        if (client->near < 0) continue;
        if (events[index].events & EPOLLOUT) writeOut(client);
        if (client->near >= 0 && events[index].events & EPOLLIN) {
            readIn(client);
        } else if (events[index].events & (EPOLLERR | EPOLLHUP)) {
            hangUp(client);
        }
    }
    return said > 0;
}

// MARK: Clients

static void send_(struct client *client) {
    if (client->far < 0) return;
    for (size_t packets = below(20); packets > 0 && left(&client->unsent) < 1 << 20; packets--) {
        size_t size = below(8) ? below(300) : below(bodyMaximum);
        uint8_t head[headSize] = {'P', (uint8_t)(size >> 8), (uint8_t)size}, body[bodyMaximum];
        fill(body, size, client->sent++);
        put(&client->unsent, head, headSize);
        put(&client->unsent, body, size);
    }
    size_t part = below(left(&client->unsent) + 1);
    ssize_t done = write(client->far, client->unsent.bytes + client->unsent.start, part);
    if (done > 0) client->unsent.start += (size_t)done;
    if (!left(&client->unsent)) client->unsent.start = client->unsent.end = 0;
}

/// Whether something came.
static bool receive(struct client *client, size_t most) {
    uint8_t bytes[1 << 16];
    if (client->far < 0) return false;
    ssize_t got = read(client->far, bytes, most < sizeof bytes ? most : sizeof bytes);
    if (got <= 0) return false;
    if ((size_t)got > left(&client->expected)) fail("more came than was passed on");
    if (memcmp(bytes, client->expected.bytes + client->expected.start, (size_t)got) != 0) fail("other bytes came");
    client->expected.start += (size_t)got;
    if (!left(&client->expected)) client->expected.start = client->expected.end = 0;
    return true;
}

static void begin(struct client *client) {
    int ends[2], small = 4096;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) fail("socketpair");
    if (below(2)) setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    *client = (struct client){.near = ends[0], .far = ends[1], .isDeaf = !below(5)};
    watch(client, EPOLLIN);
}

static void end(struct client *client) {
    hangUp(client);
    if (client->far >= 0) close(client->far);
    free(client->unsent.bytes);
    free(client->expected.bytes);
    free(client->out.bytes);
}

static void settle(void) {
    // All that was sent is taken, and all that was passed on comes, to deaf ones, too.
    bool moved = true;
    while (moved) {
        moved = turn(1 + below(clientsUsual));
        for (int index = 0; index < count; index++) {
            struct client *client = &clients[index];
            while (receive(client, 1 << 16)) moved = true;
            if (client->far < 0 || !left(&client->unsent)) continue;
            ssize_t done = write(client->far, client->unsent.bytes + client->unsent.start, left(&client->unsent));
            if (done > 0) {
                client->unsent.start += (size_t)done;
                moved = true;
            }
        }
    }
    for (int index = 0; index < count; index++) {
        const struct client *client = &clients[index];
        if (client->near < 0 || client->far < 0) continue;
        if (client->taken != client->sent) fail("a packet was not taken");
        if (left(&client->expected)) fail("something that was passed on did not come");
        if (all.sockets[client->near].asked != EPOLLIN) fail("epoll is asked for more than is wanted");
    }
}

static void beginAll(int clientCount) {
    epollOfAll = epoll_create1(0);
    all.isDecided = all.isOn = true;
    all.thread = pthread_self();
    all.epoll = epollOfAll;
    count = clientCount;
    for (int index = 0; index < count; index++) begin(&clients[index]);
}

static void endAll(void) {
    for (int index = 0; index < count; index++) end(&clients[index]);
    flushAll();
    keepRead();
    askAll();
    if (all.inCount != 0 || all.outCount != 0) fail("a buffer was not given back");
    close(epollOfAll);
}

/// Of a round that others fill, one whose packets are in memory has its part.
static void besideFlood(void) {
    beginAll(clientsMaximum);
    struct client *quiet = &clients[below(clientsMaximum)];
    const uint8_t packets[24] = {'P', 0, 0, 'P', 0, 0, 'P', 0, 0, 'P', 0, 0, 'P', 0, 0, 'P', 0, 0, 'P', 0, 0, 'P', 0, 0};
    keepsAll = true;
    quiet->sent = sizeof packets / headSize;
    if (write(quiet->far, packets, sizeof packets) != sizeof packets) fail("a socket is full at once");
    for (int rounds = 0; quiet->taken < quiet->sent; rounds++) {
        if (rounds > 200) fail("a quiet client waits for those that flood");
        for (int index = 0; index < count; index++) {
            if (&clients[index] != quiet && write(clients[index].far, packets, sizeof packets) > 0) clients[index].sent++;
        }
        turn(clientsMaximum / 3);
    }
    keepsAll = false;
    endAll();
}

/// Where a round has less room than there are sockets in memory, each has its turn.
static void byTurns(void) {
    enum { sockets = 6, packets = 8 };
    beginAll(sockets);
    keepsAll = true;
    for (int index = 0; index < sockets; index++) {
        for (int packet = 0; packet < packets; packet++) {
            if (write(clients[index].far, "P\0\0", headSize) != headSize) fail("a socket is full at once");
            clients[index].sent++;
        }
    }
    turn(sockets);
    for (int round = 0; round < 9; round++) turn(2);
    for (int index = 0; index < sockets; index++) {
        if (clients[index].taken < 3) fail("a socket in memory waits for others");
    }
    settle();
    keepsAll = false;
    endAll();
}

/// Beside packets that cost much a client that sends something is not kept waiting for many of them.
static void besideCostly(void) {
    enum { packets = 1000 };
    beginAll(2);
    keepsAll = true;
    struct client *busy = &clients[0], *quiet = &clients[1];
    uint8_t burst[packets * headSize] = {0};
    for (int packet = 0; packet < packets; packet++) burst[packet * headSize] = 'P';
    busy->sent = packets;
    if (write(busy->far, burst, sizeof burst) != sizeof burst) fail("a socket is full at once");
    turn(2);
    quiet->sent = 1;
    if (write(quiet->far, "P\0\0", headSize) != headSize) fail("a socket is full at once");
    for (int rounds = 0; quiet->taken == 0; rounds++) {
        if (rounds > 40) fail("a client waits for the packets of another one");
        usleep(300);
        turn(2);
    }
    settle();
    keepsAll = false;
    endAll();
}

int main(int argumentCount, char **arguments) {
    state = argumentCount > 1 ? strtoull(arguments[1], NULL, 10) : 1;
    int rounds = argumentCount > 2 ? atoi(arguments[2]) : 20;
    signal(SIGPIPE, SIG_IGN);
    besideFlood();
    byTurns();
    besideCostly();
    for (int round = 0; round < rounds; round++) {
        beginAll(1 + (int)below(clientsUsual));
        for (int step = 0; step < 400; step++) {
            struct client *client = &clients[below((size_t)count)];
            switch (below(6)) {
            case 0:
            case 1: send_(client); break;
            case 2:
                if (!client->isDeaf) receive(client, 1 + below(60000));
                break;
            case 3:
                if (!below(40) && client->far >= 0) {
                    close(client->far);
                    client->far = -1;
                } else if (!below(60)) {
                    end(client);
                    begin(client);
                }
                break;
            default: turn(1 + below(clientsUsual));
            }
        }
        settle();
        endAll();
    }
    if (passedOn == 0) fail("nothing was passed on");
    return 0;
}
