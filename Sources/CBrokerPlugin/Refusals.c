#include "Parts.h"

#include <string.h>
#include <time.h>

// What floods the daemon is refused before it costs the broker a way through its queues. One thread, mosquitto's own, is here.

enum { refusalsMaximum = 16, lengthMaximum = 512, refusedMilliseconds = 1000 };

struct refusal {
    char prefix[lengthMaximum];
    size_t length;
    int64_t until;
};

static struct refusal refusals[refusalsMaximum];
/// When the last of them ends.
static int64_t lastUntil;

static int64_t milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void refusalsAdd(const char *prefix, size_t length) {
    if (length == 0 || length > lengthMaximum) return;
    // The same one, else the one that ends first.
    struct refusal *place = refusals;
    for (int index = 0; index < refusalsMaximum; index++) {
        struct refusal *refusal = &refusals[index];
        if (refusal->length == length && memcmp(refusal->prefix, prefix, length) == 0) {
            place = refusal;
            break;
        }
        if (refusal->until < place->until) place = refusal;
    }
    memcpy(place->prefix, prefix, length);
    place->length = length;
    place->until = lastUntil = milliseconds() + refusedMilliseconds;
}

bool refusalsHold(const char *topic) {
    if (lastUntil == 0) return false;
    int64_t now = milliseconds();
    if (now >= lastUntil) {
        lastUntil = 0;
        return false;
    }
    for (int index = 0; index < refusalsMaximum; index++) {
        const struct refusal *refusal = &refusals[index];
        if (now < refusal->until && strncmp(topic, refusal->prefix, refusal->length) == 0) return true;
    }
    return false;
}
