#include "Mosquitto.h"
#include "Parts.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// mosquitto gives a connection 90 s for its CONNECT, which cannot be configured. A thread of ours looks at the sockets of this
// process and shuts down those that have not logged in; mosquitto then sees their end.

enum { listenersMaximum = 4, lookMilliseconds = 1000 };

/// What is known of a descriptor: a socket is another one when its inode is.
struct connection {
    ino_t inode;
    time_t since;
    /// It has logged in, or is none of ours to watch.
    bool isSettled;
};

static struct {
    pthread_mutex_t lock;
    struct connection *known;
    size_t room;
    bool cannotTell;
    int ports[listenersMaximum];
    int portCount;
    int loginSeconds;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static time_t seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/// Under the lock; NULL where there is no memory.
static struct connection *known(int descriptor) {
    size_t index = (size_t)descriptor;
    if (index >= state.room) {
        size_t room = index * 2 + 64;
        struct connection *more = realloc(state.known, room * sizeof *more);
        if (!more) return NULL;
        memset(more + state.room, 0, (room - state.room) * sizeof *more);
        state.known = more;
        state.room = room;
    }
    return &state.known[index];
}

static int portOf(const struct sockaddr_storage *address) {
    switch (address->ss_family) {
    case AF_INET: return ntohs(((const struct sockaddr_in *)address)->sin_port);
    case AF_INET6: return ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
    default: return 0;
    }
}

/// A client's connection to a listener for everybody.
static bool isPublic(int descriptor) {
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    if (getsockname(descriptor, (struct sockaddr *)&address, &size) != 0) return false;
    int port = portOf(&address), listens = 0;
    size = sizeof listens;
    if (port == 0 || getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens) return false;
    for (int index = 0; index < state.portCount; index++) {
        if (state.ports[index] == port) return true;
    }
    return false;
}

static void look(int descriptor, time_t now) {
    struct stat status;
    if (fstat(descriptor, &status) != 0 || !S_ISSOCK(status.st_mode)) return;
    struct connection *connection = known(descriptor);
    if (!connection) return;
    if (connection->inode != status.st_ino) {
        *connection = (struct connection){.inode = status.st_ino, .since = now, .isSettled = !isPublic(descriptor)};
    }
    if (connection->isSettled || now - connection->since < state.loginSeconds) return;
    // The socket stays mosquitto's; it reads the end. Between the look and this it may have become another one, which then
    // connects again.
    shutdown(descriptor, SHUT_RDWR);
    connection->isSettled = true;
}

static void lookAtAll(void) {
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) return;
    time_t now = seconds();
    pthread_mutex_lock(&state.lock);
    struct dirent *entry;
    while (!state.cannotTell && (entry = readdir(folder))) {
        if (entry->d_name[0] != '.') look(atoi(entry->d_name), now);
    }
    pthread_mutex_unlock(&state.lock);
    closedir(folder);
}

static void *run(void *unused) {
    (void)unused;
    // The daemon holds the other end of standard input: its end is the daemon's, however that came.
    struct pollfd life = {.fd = STDIN_FILENO};
    struct stat status;
    if (fstat(STDIN_FILENO, &status) != 0 || !S_ISFIFO(status.st_mode)) life.fd = -1;
    while (true) {
        poll(&life, 1, lookMilliseconds);
        if (life.fd >= 0 && life.revents & (POLLHUP | POLLERR)) {
            life.fd = -1;
            // mosquitto saves before it ends.
            kill(getpid(), SIGTERM);
        }
        if (state.loginSeconds > 0) lookAtAll();
    }
    return NULL;
}

void connectionsWatch(int port, int loginSeconds) {
    static bool isWatching;
    pthread_mutex_lock(&state.lock);
    if (port > 0 && state.portCount < listenersMaximum) state.ports[state.portCount++] = port;
    if (loginSeconds > 0) state.loginSeconds = loginSeconds;
    pthread_mutex_unlock(&state.lock);
    if (isWatching) return;
    // Signals are for mosquitto's own thread.
    sigset_t all, former;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former);
    pthread_t thread;
    isWatching = pthread_create(&thread, NULL, run, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &former, NULL);
}

/// Whether a descriptor leads to the address that mosquitto knows a client by.
static bool leadsTo(int descriptor, const char *address) {
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    if (descriptor < 0 || getpeername(descriptor, (struct sockaddr *)&peer, &size) != 0) return false;
    char text[INET6_ADDRSTRLEN];
    const void *bytes = peer.ss_family == AF_INET ? (const void *)&((struct sockaddr_in *)&peer)->sin_addr
                                                  : (const void *)&((struct sockaddr_in6 *)&peer)->sin6_addr;
    if (peer.ss_family != AF_INET && peer.ss_family != AF_INET6) return false;
    return inet_ntop(peer.ss_family, bytes, text, sizeof text) && strcmp(text, address) == 0;
}

void connectionsLoggedIn(const struct mosquitto *client) {
    const char *address = mosquitto_client_address(client);
    if (state.loginSeconds == 0 || !address) return;
    // mosquitto has no call for a client's socket. All of 2.0 keep it second in the client, or first where built without
    // epoll; what is read there is believed only where it leads to the client's address.
    const int *head = (const int *)client;
    int descriptor = leadsTo(head[1], address) ? head[1] : leadsTo(head[0], address) ? head[0] : -1;
    struct stat status;
    pthread_mutex_lock(&state.lock);
    struct connection *connection =
        descriptor >= 0 && fstat(descriptor, &status) == 0 ? known(descriptor) : NULL;
    if (connection) {
        *connection = (struct connection){.inode = status.st_ino, .isSettled = true};
    } else if (!state.cannotTell) {
        state.cannotTell = true;
        mosquitto_log_printf(
            logWarning, "Warning: this mosquitto does not show which connections have logged in: they have 90 s for it");
    }
    pthread_mutex_unlock(&state.lock);
}
