#include "CLiveRing.h"
#include "Mosquitto.h"
#include "Parts.h"

#include <stdlib.h>
#include <string.h>

// Live updates reach the daemon through memory. mosquitto asks for the access of each message to each session that it is for, in order,
// whether it was published, is a will, or was released by its sender (QoS 2): what the daemon's subscriptions select goes into the
// memory there, and is then denied, so that nothing is sent. mosquitto's event of a message is no place for that: wills have none, and
// messages of QoS 2 have it before they are sent to anybody, and again with each repetition.

static struct liveRingWriter ring;
/// The daemon has subscribed: until somebody publishes, what it gets is what was retained.
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
    // Whether something is retained only MQTT says.
    if (!isReplaying && !liveRingKeeps(&ring, message->topic, message->qos)
        && liveRingPut(&ring, message->topic, length, message->payload, message->payloadLength)) {
        return true;
    }
    liveRingPutMark(&ring, liveRingHash(message->topic, length, message->payload, message->payloadLength));
    return false;
}
