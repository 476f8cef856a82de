#include "CBrokerPlugin.h"

#include "Mosquitto.h"
#include "Parts.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/// The plugin on one listener.
struct instance {
    struct geomatch_plugin_identity *identity;
    bool isForEverybody;
};

// All listeners for everybody have the same users and access.
static char *usersPath, *accessPath;
static struct users *users;
static struct access *access_;

// MARK: The daemon's listener

static void publishEach(const uint8_t *bytes, size_t count) {
    const size_t head = sizeof(uint32_t) + sizeof(uint16_t);
    while (count > head) {
        uint32_t payloadLength;
        uint16_t topicLength;
        memcpy(&payloadLength, bytes, sizeof payloadLength);
        memcpy(&topicLength, bytes + sizeof payloadLength, sizeof topicLength);
        const bool retain = payloadLength & GEOMATCH_BATCH_RETAIN;
        payloadLength &= ~GEOMATCH_BATCH_RETAIN;
        const size_t whole = head + topicLength + 1 + (size_t)payloadLength;
        if (topicLength == 0 || whole > count) return;
        const char *topic = (const char *)bytes + head;
        if (strnlen(topic, (size_t)topicLength + 1) != topicLength) return;
        // mosquitto frees it with its own counting, so it is made with that: else the count of its memory falls below zero.
        char *payload = mosquitto_malloc((size_t)payloadLength + 1);
        if (!payload) return;
        memcpy(payload, topic + topicLength + 1, payloadLength);
        payload[payloadLength] = 0;
        mosquitto_broker_publish(NULL, topic, (int)payloadLength, payload, 0, retain, NULL);
        bytes += whole;
        count -= whole;
    }
}

static void logOut(const char *name) { mosquitto_kick_client_by_username(name, true); }

/// Reads users and access; what cannot be read stays as it was.
static bool readAgain(void) {
    struct access *newAccess = accessPath ? accessFromFile(accessPath) : NULL;
    struct users *newUsers = usersPath ? usersRead(usersPath) : NULL;
    if ((accessPath && !newAccess) || (usersPath && !newUsers)) {
        accessFree(newAccess);
        usersFree(newUsers);
        return false;
    }
    struct access *oldAccess = access_;
    struct users *oldUsers = users;
    access_ = newAccess;
    users = newUsers;
    if (oldUsers && newUsers) usersCompare(oldUsers, newUsers, logOut);
    accessFree(oldAccess);
    usersFree(oldUsers);
    return true;
}

/// Once: what the daemon's log says of its broker.
static void reportSockets(void) {
    static bool isReported;
    if (isReported) return;
    isReported = true;
    if (socketsAreServed()) return;
    mosquitto_log_printf(
        logWarning,
        "Warning: mosquitto reads and writes its sockets packet by packet, half as fast: this build of it is not known, or the path of "
        "the plugin has a colon");
}

static int receivedFromDaemon(int event, void *data, void *user) {
    (void)event;
    (void)user;
    const struct messageEventData *message = data;
    reportSockets();
    savingProceed();
    liveUpdatesNote();
    if (strcmp(message->topic, GEOMATCH_BATCH_TOPIC) == 0) {
        publishEach(message->payload, message->payloadLength);
    } else if (strcmp(message->topic, GEOMATCH_RELOAD_TOPIC) == 0) {
        if (!readAgain()) mosquitto_log_printf(logWarning, "Warning: users and access cannot be read again");
    } else if (strcmp(message->topic, GEOMATCH_REFUSE_TOPIC) == 0) {
        refusalsAdd(message->payload, message->payloadLength);
    } else if (strcmp(message->topic, GEOMATCH_CONTINUE_TOPIC) == 0) {
        liveUpdatesContinue();
    } else {
        return success;
    }
    // Batches and commands themselves go nowhere.
    return refusedByAccess;
}

static int reachesDaemon(int event, void *data, void *user) {
    (void)event;
    (void)user;
    return liveUpdatesHandOver(data) ? refusedByAccess : success;
}

// MARK: The listeners for everybody

/// So many refusals a second are logged, where the daemon shows them at `debug`.
enum { loggedMaximum = 20 };

static void logRefusal(const char *what, const char *name, const char *topic) {
    static time_t second;
    static int logged;
    time_t now = time(NULL);
    if (now != second) logged = 0;
    second = now;
    if (logged++ >= loggedMaximum) return;
    char who[65] = "-";
    if (name && *name) {
        size_t length = strnlen(name, sizeof who - 1);
        // What a client is called may hold anything.
        for (size_t index = 0; index < length; index++) who[index] = name[index] >= ' ' && name[index] < 127 ? name[index] : '?';
        who[length] = 0;
    }
    mosquitto_log_printf(logNotice, "refused: %s by the user %s%s%.200s", what, who, topic ? " on " : "", topic ? topic : "");
}

/// At most once a minute: it tries again and again.
static void reportSecondDaemon(void) {
    static time_t loggedAt;
    time_t now = time(NULL);
    if (loggedAt && now >= loggedAt && now - loggedAt < 60) return;
    loggedAt = now;
    mosquitto_log_printf(
        logWarning, "Warning: a client with an id as geomatchd has it is refused: an embedded broker has one daemon, its own");
}

static int logsIn(int event, void *data, void *user) {
    (void)event;
    (void)user;
    const struct loginEventData *login = data;
    const char *id = mosquitto_client_id(login->client);
    if (id && strncmp(id, GEOMATCH_CLIENT_PREFIX, strlen(GEOMATCH_CLIENT_PREFIX)) == 0) {
        reportSecondDaemon();
        return refusedLogin;
    }
    if (users && !usersLetIn(users, login->username, login->password)) {
        logRefusal("a login", login->username, NULL);
        return refusedLogin;
    }
    connectionsLoggedIn(login->client);
    return success;
}

static int mayAccess(int event, void *data, void *user) {
    (void)event;
    (void)user;
    const struct accessEventData *access = data;
    // What a subscription may bring is decided message by message.
    if (access->access != accessRead && access->access != accessWrite) return success;
    const char *name = mosquitto_client_username(access->client);
    if (name && access_ && accessGrants(access_, name, access->topic, access->access)) return success;
    // What is not for somebody is nobody's mistake.
    if (access->access == accessWrite) logRefusal("a message", name, access->topic);
    return refusedByAccess;
}

static int receivedFromClient(int event, void *data, void *user) {
    (void)event;
    (void)user;
    const struct messageEventData *message = data;
    savingProceed();
    liveUpdatesNote();
    if (refusalsHold(message->topic)) {
        logRefusal("one of too many messages", mosquitto_client_username(message->client), message->topic);
        return refusedByAccess;
    }
    // A QoS 0 message that is not retained is kept by nobody, an empty one frees.
    if ((message->qos == 0 && !message->retain) || message->payloadLength == 0) return success;
    return memoryTakes(mosquitto_client_username(message->client), message->payloadLength) ? success : refusedByAccess;
}

// MARK: What mosquitto calls

int mosquitto_plugin_version(int count, const int *versions) {
    for (int index = 0; index < count; index++) {
        if (versions[index] == interfaceVersion) return interfaceVersion;
    }
    return -1;
}

static const char *option(const struct mosquitto_opt *options, int count, const char *key) {
    for (int index = 0; index < count; index++) {
        if (strcmp(options[index].key, key) == 0) return options[index].value;
    }
    return NULL;
}

static int beginForEverybody(struct instance *instance, const struct mosquitto_opt *options, int count) {
    const char *path = option(options, count, "users"), *list = option(options, count, "access");
    if (path && !usersPath) usersPath = strdup(path);
    if (list && !accessPath) accessPath = strdup(list);
    if ((path || list) && !readAgain()) return refusedLogin;
    const char *memory = option(options, count, "memory"), *login = option(options, count, "login"),
               *port = option(options, count, "port");
    if (memory) memoryBound((size_t)strtoull(memory, NULL, 10));
    connectionsWatch(port ? atoi(port) : 0, login ? atoi(login) : 0);
    int result = mosquitto_callback_register(instance->identity, loginEvent, logsIn, NULL, NULL);
    if (result == success && path) {
        result = mosquitto_callback_register(instance->identity, accessEvent, mayAccess, NULL, NULL);
    }
    if (result != success) return result;
    return mosquitto_callback_register(instance->identity, messageEvent, receivedFromClient, NULL, NULL);
}

int mosquitto_plugin_init(
    struct geomatch_plugin_identity *identity, void **data, struct mosquitto_opt *options, int count) {
    struct instance *instance = calloc(1, sizeof *instance);
    if (!instance) return 1;
    instance->identity = identity;
    instance->isForEverybody = option(options, count, "role") != NULL;
    *data = instance;
    if (instance->isForEverybody) return beginForEverybody(instance, options, count);
    connectionsWatch(0, 0);
    int result = mosquitto_callback_register(identity, messageEvent, receivedFromDaemon, NULL, NULL);
    const char *memory = option(options, count, "ring");
    if (result != success || !memory) return result;
    liveUpdatesAttach(memory, option(options, count, "wake"));
    return mosquitto_callback_register(identity, accessEvent, reachesDaemon, NULL, NULL);
}

int mosquitto_plugin_cleanup(void *data, struct mosquitto_opt *options, int count) {
    (void)options;
    (void)count;
    struct instance *instance = data;
    if (!instance) return success;
    if (instance->isForEverybody) {
        mosquitto_callback_unregister(instance->identity, loginEvent, logsIn, NULL);
        mosquitto_callback_unregister(instance->identity, accessEvent, mayAccess, NULL);
        mosquitto_callback_unregister(instance->identity, messageEvent, receivedFromClient, NULL);
    } else {
        mosquitto_callback_unregister(instance->identity, messageEvent, receivedFromDaemon, NULL);
        mosquitto_callback_unregister(instance->identity, accessEvent, reachesDaemon, NULL);
        liveUpdatesDetach();
        savingEnd();
    }
    free(instance);
    return success;
}
