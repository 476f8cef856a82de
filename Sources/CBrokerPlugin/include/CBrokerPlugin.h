#ifndef GEOMATCH_BROKER_PLUGIN_H
#define GEOMATCH_BROKER_PLUGIN_H

#include <stdbool.h>
#include <stdint.h>

// The plugin that the embedded mosquitto loads on each of its listeners.
//
// On the daemon's private listener it receives batches and commands. On the listeners for everybody it decides who logs in
// and who reads and writes what, refuses the daemon's client id and what comes faster than the daemon can take, bounds memory, and
// ends connections that do not log in.
// While the daemon's process is gone it ends mosquitto.
//
// Why users and access are not left to mosquitto's own files: mosquitto 2.0.11 reads them again on SIGHUP only, and that
// also sets `max_connections` to unlimited and puts sessions that are away into the list of expiring sessions a second
// time, which is freed memory in use once such a session ends.
//
// Batches: mosquitto reads one packet a turn of its loop, with four system calls and more around it, most of what a relayed
// message costs it. A batch is the payload of a message on GEOMATCH_BATCH_TOPIC, of entries one behind the other, integers in
// the order of bytes of the machine (both ends are on it):
//
//     uint32  length of the payload, below 2^31; its highest bit says "retain"
//     uint16  length of the topic
//     bytes   the topic, a NUL, the payload
//
// What does not add up ends the batch there.
//
// Live updates reach the daemon through memory, see CLiveRing.h. Options of the daemon's listener:
//
//     ring    the number of the inherited descriptor of the memory
//     wake    that of an eventfd that wakes the daemon
//
// Options (`plugin_opt_…`) of a listener for everybody:
//
//     role    everybody; without this option the listener is the daemon's
//     users   a mosquitto password file; without it everybody may log in
//     access  an access list: lines of mosquitto's `acl_file`, those of the user before the patterns and of each the first
//             that matches, where `*` inside a level is any run of characters
//     memory  bytes of memory from which on clients may publish nothing that is kept
//     login   seconds a connection has to log in
//     port    of the listener

#define GEOMATCH_BATCH_TOPIC "$geomatch/batch"
#define GEOMATCH_BATCH_RETAIN 0x80000000u
/// A message here makes the plugin read users and access again, and ends the connections of whom they no longer let in.
#define GEOMATCH_RELOAD_TOPIC "$geomatch/reload"
/// For a second nobody may publish on topics that begin like a message here.
#define GEOMATCH_REFUSE_TOPIC "$geomatch/refuse"
/// A message here says that the daemon has made room in the memory for live updates.
#define GEOMATCH_CONTINUE_TOPIC "$geomatch/continue"
/// How client ids of daemons begin.
#define GEOMATCH_CLIENT_PREFIX "geomatchd-"

// What mosquitto calls in a plugin of interface version 5 (mosquitto 2.0).

struct mosquitto_opt;
struct geomatch_plugin_identity;

int mosquitto_plugin_version(int count, const int *versions);
int mosquitto_plugin_init(
    struct geomatch_plugin_identity *identity, void **data, struct mosquitto_opt *options, int count);
int mosquitto_plugin_cleanup(void *data, struct mosquitto_opt *options, int count);

#endif
