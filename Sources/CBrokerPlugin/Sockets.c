#define _GNU_SOURCE
#include "Mosquitto.h"
#include "Parts.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// For each message mosquitto 2.0 reads four times, the head a byte at a time, writes once and asks epoll four times whether the socket
// takes more; most of what a message costs is these calls (eclipse-mosquitto/mosquitto#3722). The daemon has the broker load this
// library before all others (`LD_PRELOAD`), so that the functions below are called instead of the C library's: a read takes all that has
// come, for the next ones, and what was written goes out once that is used up, or after some packets; then epoll is asked what still
// counts. To mosquitto a socket is as it is: what the kernel does not take it does not take here.
//
// Only sockets that mosquitto watches with epoll are served so, in the thread that watches. Websockets are
// read and written with other calls (`recv`, `send`), and pass by.

enum {
    /// Of a socket, in each direction.
    bufferSize = 16 << 10,
    /// What asks for as much at once is read and written directly.
    directSize = 4 << 10,
    sparesMaximum = 64,
    /// In each direction so many are in use, and no socket gets another: 16 MiB.
    buffersMaximum = 1024,
    socketsMaximum = 1 << 20,
    /// After so many packets read from memory or written to it, or so much time, what was written goes out and epoll is asked.
    packetsBetweenLooks = 128,
    nanosecondsBetweenLooks = 1000000,
    /// Within a round what was written goes out after so many.
    packetsBetweenFlushes = 256,
};

struct socket {
    bool isWatched;
    /// What waits to go out is more than the kernel takes.
    bool isFull;
    /// It is in the list of the same name.
    bool isWritten, isRead, isAsked;
    /// mosquitto has it among the events of this round.
    bool isGiven;
    int error;
    /// What mosquitto asks of epoll, and what epoll has been asked.
    uint32_t wanted, asked;
    epoll_data_t data;
    uint8_t *in, *out;
    uint32_t inStart, inEnd, outStart, outEnd;
};

/// With room for every socket.
struct list {
    int *descriptors;
    size_t count;
};

static struct {
    bool isDecided, isOn;
    pthread_t thread;
    int epoll;
    struct socket *sockets;
    size_t room;
    /// With something to send, with something that mosquitto has not read, with something to ask epoll.
    struct list written, read, asked;
    uint8_t *spares[sparesMaximum];
    int spareCount;
    int inCount, outCount;
    size_t packets;
    int64_t lookedAt;
    /// Where in `read` the next round begins, so that each is the first in turn.
    size_t turn;
} all;

// MARK: The C library's

typedef ssize_t (*readFunction)(int, void *, size_t);
typedef ssize_t (*writeFunction)(int, const void *, size_t);
typedef int (*closeFunction)(int);
typedef int (*controlFunction)(int, int, int, struct epoll_event *);
typedef int (*waitFunction)(int, struct epoll_event *, int, int);

static void *next(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    if (!function) abort();
    return function;
}

#define NEXT(type, name)                                                                                                          \
    static type function;                                                                                                         \
    if (!function) function = (type)next(name)

static ssize_t readNow(int descriptor, void *bytes, size_t count) {
    NEXT(readFunction, "read");
    return function(descriptor, bytes, count);
}

static ssize_t writeNow(int descriptor, const void *bytes, size_t count) {
    NEXT(writeFunction, "write");
    return function(descriptor, bytes, count);
}

static int controlNow(int epoll, int operation, int descriptor, struct epoll_event *event) {
    NEXT(controlFunction, "epoll_ctl");
    return function(epoll, operation, descriptor, event);
}

// MARK: Memory

/// NULL where there is none.
static uint8_t *takeBuffer(int *count) {
    if (*count >= buffersMaximum) return NULL;
    uint8_t *buffer = all.spareCount > 0 ? all.spares[--all.spareCount] : malloc(bufferSize);
    if (buffer) ++*count;
    return buffer;
}

static void giveBuffer(uint8_t **buffer, int *count) {
    if (!*buffer) return;
    --*count;
    if (all.spareCount < sparesMaximum) {
        all.spares[all.spareCount++] = *buffer;
    } else {
        free(*buffer);
    }
    *buffer = NULL;
}

static void append(struct list *list, int descriptor) { list->descriptors[list->count++] = descriptor; }

static bool widen(struct list *list, size_t room) {
    int *more = realloc(list->descriptors, room * sizeof *more);
    if (more) list->descriptors = more;
    return more;
}

/// Room for a socket, and for it in each list; false where there is no memory.
static bool reserve(int descriptor) {
    if ((size_t)descriptor < all.room) return true;
    if (descriptor >= socketsMaximum) return false;
    size_t room = (size_t)descriptor * 2 + 64;
    if (!widen(&all.written, room) || !widen(&all.read, room) || !widen(&all.asked, room)) return false;
    struct socket *more = realloc(all.sockets, room * sizeof *more);
    if (!more) return false;
    memset(more + all.room, 0, (room - all.room) * sizeof *more);
    all.sockets = more;
    all.room = room;
    return true;
}

/// A socket that is served; NULL for all others.
static struct socket *served(int descriptor) {
    if (!all.isOn || descriptor < 0 || (size_t)descriptor >= all.room || !pthread_equal(all.thread, pthread_self())) return NULL;
    struct socket *socket = &all.sockets[descriptor];
    return socket->isWatched ? socket : NULL;
}

// MARK: What goes out

static void ask(int descriptor) {
    struct socket *socket = &all.sockets[descriptor];
    if (!socket->isAsked) append(&all.asked, descriptor);
    socket->isAsked = true;
}

/// Sends what waits, as much as the kernel takes.
static void flush(int descriptor) {
    struct socket *socket = &all.sockets[descriptor];
    if (!socket->out) return;
    while (socket->outStart < socket->outEnd) {
        ssize_t count = writeNow(descriptor, socket->out + socket->outStart, socket->outEnd - socket->outStart);
        if (count > 0) {
            socket->outStart += (uint32_t)count;
        } else if (count < 0 && errno == EINTR) {
            continue;
        } else if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (!socket->isFull) ask(descriptor);
            socket->isFull = true;
            return;
        } else {
            socket->error = count < 0 ? errno : EPIPE;
            // mosquitto learns of it from epoll, and by what it writes next.
            shutdown(descriptor, SHUT_RDWR);
            break;
        }
    }
    socket->outStart = socket->outEnd = 0;
    giveBuffer(&socket->out, &all.outCount);
    if (socket->isFull) ask(descriptor);
    socket->isFull = false;
}

static void flushAll(void) {
    for (size_t index = 0; index < all.written.count; index++) {
        int descriptor = all.written.descriptors[index];
        all.sockets[descriptor].isWritten = false;
        if (all.sockets[descriptor].isWatched && !all.sockets[descriptor].isFull) flush(descriptor);
    }
    all.written.count = 0;
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    struct socket *socket = served(descriptor);
    if (!socket) return writeNow(descriptor, bytes, count);
    if (socket->error) {
        errno = socket->error;
        return -1;
    }
    if (socket->out && (socket->isFull || socket->outEnd + count > bufferSize)) {
        flush(descriptor);
        if (socket->error || socket->out) {
            errno = socket->error ? socket->error : EAGAIN;
            return -1;
        }
    }
    if (!socket->out) {
        if (count >= directSize) return writeNow(descriptor, bytes, count);
        if (all.outCount >= buffersMaximum) flushAll();
        if (!(socket->out = takeBuffer(&all.outCount))) return writeNow(descriptor, bytes, count);
    }
    if (!socket->isWritten) append(&all.written, descriptor);
    socket->isWritten = true;
    memcpy(socket->out + socket->outEnd, bytes, count);
    socket->outEnd += (uint32_t)count;
    if (++all.packets % packetsBetweenFlushes == 0) flushAll();
    return (ssize_t)count;
}

// MARK: What comes in

ssize_t read(int descriptor, void *bytes, size_t count) {
    struct socket *socket = served(descriptor);
    if (!socket) return readNow(descriptor, bytes, count);
    if (!socket->in) {
        if (count >= directSize || !(socket->in = takeBuffer(&all.inCount))) return readNow(descriptor, bytes, count);
        if (!socket->isRead) append(&all.read, descriptor);
        socket->isRead = true;
        ssize_t got = readNow(descriptor, socket->in, bufferSize);
        if (got <= 0) {
            int error = errno;
            giveBuffer(&socket->in, &all.inCount);
            errno = error;
            return got;
        }
        socket->inStart = 0;
        socket->inEnd = (uint32_t)got;
    }
    size_t part = socket->inEnd - socket->inStart;
    if (part > count) part = count;
    memcpy(bytes, socket->in + socket->inStart, part);
    socket->inStart += (uint32_t)part;
    if (socket->inStart == socket->inEnd) giveBuffer(&socket->in, &all.inCount);
    return (ssize_t)part;
}

/// mosquitto is done with it.
static void release(int descriptor) {
    struct socket *socket = &all.sockets[descriptor];
    flush(descriptor);
    // Nothing may come behind a gap.
    if (socket->out) shutdown(descriptor, SHUT_WR);
    giveBuffer(&socket->in, &all.inCount);
    giveBuffer(&socket->out, &all.outCount);
    socket->isWatched = false;
}

int close(int descriptor) {
    NEXT(closeFunction, "close");
    if (served(descriptor)) release(descriptor);
    // mosquitto ends: it saves before it closes its sockets, and may be killed meanwhile.
    if (all.isOn && descriptor == all.epoll && pthread_equal(all.thread, pthread_self())) flushAll();
    return function(descriptor);
}

// MARK: epoll

/// Whether it is the one epoll of a mosquitto that is known.
static bool isOurs(int epoll) {
    if (!all.isDecided) {
        all.isDecided = true;
        all.epoll = epoll;
        // mosquitto 2.0, which is what this was read against and tested with; Debian's exports these for plugins to find.
        all.isOn = dlsym(RTLD_DEFAULT, "persist__backup") && dlsym(RTLD_DEFAULT, "mux_epoll__handle")
            && !dlsym(RTLD_DEFAULT, "mosquitto_plugin_set_info");
        all.thread = pthread_self();
    }
    return all.isOn && epoll == all.epoll;
}

int epoll_ctl(int epoll, int operation, int descriptor, struct epoll_event *event) {
    if (!isOurs(epoll) || !pthread_equal(all.thread, pthread_self()) || descriptor < 0) {
        return controlNow(epoll, operation, descriptor, event);
    }
    if (!reserve(descriptor)) {
        errno = ENOMEM;
        return -1;
    }
    struct socket *socket = &all.sockets[descriptor];
    if (!socket->isWatched) {
        if (operation != EPOLL_CTL_ADD) return controlNow(epoll, operation, descriptor, event);
        struct epoll_event ours = {.events = event->events, .data.fd = descriptor};
        int result = controlNow(epoll, operation, descriptor, &ours);
        if (result != 0) return result;
        const struct socket former = *socket;
        *socket = (struct socket){
            .isWatched = true, .isWritten = former.isWritten, .isRead = former.isRead, .isAsked = former.isAsked,
            .wanted = event->events, .asked = event->events, .data = event->data};
        return 0;
    }
    switch (operation) {
    case EPOLL_CTL_ADD: errno = EEXIST; return -1;
    case EPOLL_CTL_MOD:
        socket->wanted = event->events;
        socket->data = event->data;
        ask(descriptor);
        return 0;
    default: release(descriptor); return controlNow(epoll, operation, descriptor, event);
    }
}

static int64_t nanosecondsNow(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void askAll(void) {
    size_t kept = 0;
    for (size_t index = 0; index < all.asked.count; index++) {
        int descriptor = all.asked.descriptors[index];
        struct socket *socket = &all.sockets[descriptor];
        socket->isAsked = false;
        uint32_t events = socket->wanted | (socket->isFull ? EPOLLOUT : 0);
        if (!socket->isWatched || events == socket->asked) continue;
        struct epoll_event event = {.events = events, .data.fd = descriptor};
        if (controlNow(all.epoll, EPOLL_CTL_MOD, descriptor, &event) == 0) {
            socket->asked = events;
        } else {
            // It has no memory for it now.
            socket->isAsked = true;
            all.asked.descriptors[kept++] = descriptor;
        }
    }
    all.asked.count = kept;
}

/// Sockets with something in memory that mosquitto has not read.
static size_t keepRead(void) {
    size_t kept = 0;
    for (size_t index = 0; index < all.read.count; index++) {
        int descriptor = all.read.descriptors[index];
        struct socket *socket = &all.sockets[descriptor];
        if (socket->isWatched && socket->in) {
            all.read.descriptors[kept++] = descriptor;
        } else {
            socket->isRead = false;
        }
    }
    all.read.count = kept;
    return kept;
}

/// What epoll says of a socket, in mosquitto's words; false where there is nothing for it.
static bool translate(struct epoll_event *event) {
    int descriptor = event->data.fd;
    struct socket *socket = &all.sockets[descriptor];
    if (!socket->isWatched) return false;
    if (socket->in) event->events |= EPOLLIN;
    if (socket->isFull && event->events & EPOLLOUT) flush(descriptor);
    if (!(socket->wanted & EPOLLOUT) || socket->isFull) event->events &= ~(uint32_t)EPOLLOUT;
    event->data = socket->data;
    return event->events != 0;
}

int epoll_wait(int epoll, struct epoll_event *events, int maximum, int timeout) {
    NEXT(waitFunction, "epoll_wait");
    if (!all.isOn || epoll != all.epoll || !pthread_equal(all.thread, pthread_self())) {
        return function(epoll, events, maximum, timeout);
    }
    const size_t inMemory = keepRead();
    int count = 0;
    // mosquitto reads one of each.
    all.packets += inMemory;
    if (inMemory == 0 || all.packets >= packetsBetweenLooks || nanosecondsNow() - all.lookedAt >= nanosecondsBetweenLooks) {
        all.packets = 0;
        flushAll();
        askAll();
        // Those in memory have their places among them.
        int places = maximum - (inMemory < (size_t)maximum / 2 ? (int)inMemory : maximum / 2);
        int said = function(epoll, events, places, inMemory > 0 ? 0 : timeout);
        all.lookedAt = nanosecondsNow();
        if (said < 0) return said;
        for (int index = 0; index < said; index++) {
            struct socket *socket = &all.sockets[events[index].data.fd];
            struct epoll_event event = events[index];
            if (!translate(&event)) continue;
            events[count++] = event;
            socket->isGiven = socket->isRead;
        }
    }
    if (inMemory == 0) return count;
    const size_t first = all.turn % inMemory;
    for (size_t step = 0; step < inMemory; step++) {
        const size_t index = (first + step) % inMemory;
        struct socket *socket = &all.sockets[all.read.descriptors[index]];
        if (!socket->isGiven && count < maximum) {
            events[count++] = (struct epoll_event){.events = EPOLLIN, .data = socket->data};
            all.turn = index + 1;
        }
        socket->isGiven = false;
    }
    return count;
}

bool socketsAreServed(void) { return all.isOn; }

void socketsForget(void) { all.isOn = false; }
