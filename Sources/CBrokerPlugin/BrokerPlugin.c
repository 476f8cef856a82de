#include "CBrokerPlugin.h"

#include <stddef.h>
#include <string.h>

// What the plugin calls in mosquitto, which is known when mosquitto loads it. Declared here so that building needs no package
// beside the broker itself; the layout is that of interface version 5, which mosquitto checks by number.

enum {
    success = 0,
    refusedByAccess = 12,
    interfaceVersion = 5,
    messageEvent = 7,
};

struct messageEventData {
    void *reserved;
    void *client;
    char *topic;
    void *payload;
    void *properties;
    char *reasonText;
    uint32_t payloadLength;
    uint8_t qos;
    uint8_t reason;
    bool retain;
    void *reservedToo[4];
};

typedef int (*eventFunction)(int event, void *data, void *user);

extern int mosquitto_callback_register(
    struct geomatch_plugin_identity *identity, int event, eventFunction function, const void *data, void *user);
extern int mosquitto_callback_unregister(
    struct geomatch_plugin_identity *identity, int event, eventFunction function, const void *data);
extern int mosquitto_broker_publish_copy(
    const char *client, const char *topic, int payloadLength, const void *payload, int qos, bool retain, void *properties);

static struct geomatch_plugin_identity *registeredAs;

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
        mosquitto_broker_publish_copy(
            NULL, topic, (int)payloadLength, topic + topicLength + 1, 0, retain, NULL);
        bytes += whole;
        count -= whole;
    }
}

static int received(int event, void *data, void *user) {
    (void)event;
    (void)user;
    const struct messageEventData *message = data;
    if (strcmp(message->topic, GEOMATCH_BATCH_TOPIC) != 0) return success;
    publishEach(message->payload, message->payloadLength);
    // The batch itself goes nowhere.
    return refusedByAccess;
}

int mosquitto_plugin_version(int count, const int *versions) {
    for (int index = 0; index < count; index++) {
        if (versions[index] == interfaceVersion) return interfaceVersion;
    }
    return -1;
}

int mosquitto_plugin_init(
    struct geomatch_plugin_identity *identity, void **data, struct mosquitto_opt *options, int count) {
    (void)data;
    (void)options;
    (void)count;
    registeredAs = identity;
    return mosquitto_callback_register(identity, messageEvent, received, NULL, NULL);
}

int mosquitto_plugin_cleanup(void *data, struct mosquitto_opt *options, int count) {
    (void)data;
    (void)options;
    (void)count;
    return mosquitto_callback_unregister(registeredAs, messageEvent, received, NULL);
}
