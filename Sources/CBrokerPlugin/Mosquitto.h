#ifndef GEOMATCH_MOSQUITTO_H
#define GEOMATCH_MOSQUITTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What the plugin calls in mosquitto, which is known when mosquitto loads it. Declared here so that building needs no package
// beside the broker itself; the layouts are those of interface version 5, which mosquitto checks by number.

struct geomatch_plugin_identity;
struct mosquitto;

enum {
    success = 0,
    refusedLogin = 11,
    refusedByAccess = 12,
    deferred = 17,
};

enum { interfaceVersion = 5 };

enum {
    accessEvent = 2,
    loginEvent = 3,
    messageEvent = 7,
};

enum {
    accessRead = 1,
    accessWrite = 2,
    accessSubscribe = 4,
};

enum {
    logNotice = 1 << 1,
    logWarning = 1 << 2,
};

struct mosquitto_opt {
    char *key;
    char *value;
};

struct loginEventData {
    void *reserved;
    struct mosquitto *client;
    char *username;
    char *password;
    void *reservedToo[4];
};

struct accessEventData {
    void *reserved;
    struct mosquitto *client;
    const char *topic;
    const void *payload;
    void *properties;
    int access;
    uint32_t payloadLength;
    uint8_t qos;
    bool retain;
    void *reservedToo[4];
};

struct messageEventData {
    void *reserved;
    struct mosquitto *client;
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

// Weak: a program that is not mosquitto starts with the plugin loaded before it, too.
#define WEAK __attribute__((weak)) extern
WEAK int mosquitto_callback_register(
    struct geomatch_plugin_identity *identity, int event, eventFunction function, const void *data, void *user);
WEAK int mosquitto_callback_unregister(
    struct geomatch_plugin_identity *identity, int event, eventFunction function, const void *data);
WEAK int mosquitto_broker_publish(
    const char *client, const char *topic, int payloadLength, void *payload, int qos, bool retain, void *properties);
WEAK const char *mosquitto_client_address(const struct mosquitto *client);
WEAK const char *mosquitto_client_id(const struct mosquitto *client);
WEAK const char *mosquitto_client_username(const struct mosquitto *client);
WEAK int mosquitto_kick_client_by_username(const char *username, bool withWill);
WEAK void mosquitto_log_printf(int level, const char *format, ...);
WEAK void *mosquitto_malloc(size_t size);

#endif
