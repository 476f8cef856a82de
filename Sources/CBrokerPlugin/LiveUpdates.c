#include "CLiveRing.h"
#include "Mosquitto.h"
#include "Parts.h"

#include <stdlib.h>
#include <string.h>

// Live updates reach the daemon through memory. For each message and each session that subscribes to it mosquitto checks read access, in
// order, be it published, a will, or released by its sender (QoS 2). At this check what the daemon's subscriptions select is written into
// the memory, and access is denied, so that nothing is sent. MOSQ_EVT_MESSAGE would not do: mosquitto 2.0.11 raises it not for wills, and
// for a message of QoS 2 before it is released and again with each repetition.

static struct liveRingWriter ring;
/// The daemon has subscribed: until the next publication its messages are retained ones.
static bool isReplaying;

void liveUpdatesAttach(const char *memory, const char *wake) {
    if (!memory || !wake || ring.ring) return;
    int64_t version = liveRingAttach(&ring, atoi(memory), atoi(wake));
    if (version > 0) {
        mosquitto_log_printf(
            logWarning, "Warning: the daemon's memory for live updates is version %d, the plugin's is %d: it is not used",
            (int)version, GEOMATCH_RING_VERSION);
    } else if (version < 0) {
        mosquitto_log_printf(logWarning, "Warning: the daemon's memory for live updates cannot be used");
    }
}

void liveUpdatesDetach(void) { liveRingDetach(&ring); }

void liveUpdatesNote(void) { isReplaying = false; }

void liveUpdatesContinue(void) {
    if (ring.ring) liveRingContinue(&ring);
}

bool liveUpdatesHandOver(const struct accessEventData *message) {
    if (message->access == accessSubscribe) isReplaying = true;
    if (message->access != accessRead || !liveRingIsOpen(&ring, mosquitto_client_id(message->client))) return false;
    size_t length = strlen(message->topic);
    // Only MQTT shows the daemon that a message is a retained one.
    if (!isReplaying && !liveRingKeeps(&ring, message->topic, message->qos)
        && liveRingPut(&ring, message->topic, length, message->payload, message->payloadLength)) {
        return true;
    }
    liveRingPutMark(&ring, liveRingHash(message->topic, length, message->payload, message->payloadLength));
    return false;
}
