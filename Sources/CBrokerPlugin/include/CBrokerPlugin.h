#ifndef GEOMATCH_BROKER_PLUGIN_H
#define GEOMATCH_BROKER_PLUGIN_H

#include <stdbool.h>
#include <stdint.h>

// mosquitto reads one packet a turn of its loop, with four system calls and more around it: most of what a relayed message
// costs it. This plugin, on the daemon's private listener, takes a batch of QoS 0 messages in one packet and publishes them
// from inside.
//
// A batch is the payload of a message on GEOMATCH_BATCH_TOPIC, of entries one behind the other, integers in the order of bytes
// of the machine (both ends are on it):
//
//     uint32  length of the payload, below 2^31; its highest bit says "retain"
//     uint16  length of the topic
//     bytes   the topic, a NUL, the payload
//
// What does not add up ends the batch there.

#define GEOMATCH_BATCH_TOPIC "$geomatch/batch"
#define GEOMATCH_BATCH_RETAIN 0x80000000u

// What mosquitto calls in a plugin of interface version 5 (mosquitto 2.0).

struct mosquitto_opt;
struct geomatch_plugin_identity;

int mosquitto_plugin_version(int count, const int *versions);
int mosquitto_plugin_init(
    struct geomatch_plugin_identity *identity, void **data, struct mosquitto_opt *options, int count);
int mosquitto_plugin_cleanup(void *data, struct mosquitto_opt *options, int count);

#endif
