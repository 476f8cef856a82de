#include "Parts.h"

#include <string.h>
#include <time.h>

// What floods the daemon is refused before it costs the broker a way through its queues. One thread, mosquitto's own, is here.

enum {
    refusalsMaximum = 16,
    lengthMaximum = 512,
    refusedMilliseconds = 1000,
    /// How long who was refused is watched, and how much of it passes in a second meanwhile.
    watchedMilliseconds = 10000,
    passesMaximum = 100
};

struct refusal {
    char prefix[lengthMaximum];
    size_t length;
    int64_t until;
    int64_t watchedUntil;
    int64_t secondEnds;
    int passed;
};

static struct refusal refusals[refusalsMaximum];
/// When the last of them is watched no more.
static int64_t lastUntil;

static int64_t milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void begin(struct refusal *refusal, int64_t now) {
    refusal->until = refusal->secondEnds = now + refusedMilliseconds;
    refusal->watchedUntil = lastUntil = now + watchedMilliseconds;
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
        if (refusal->watchedUntil < place->watchedUntil) place = refusal;
    }
    memcpy(place->prefix, prefix, length);
    place->length = length;
    begin(place, milliseconds());
}

bool refusalsHold(const char *topic) {
    if (lastUntil == 0) return false;
    int64_t now = milliseconds();
    if (now >= lastUntil) {
        lastUntil = 0;
        return false;
    }
    for (int index = 0; index < refusalsMaximum; index++) {
        struct refusal *refusal = &refusals[index];
        if (now >= refusal->watchedUntil || strncmp(topic, refusal->prefix, refusal->length) != 0) continue;
        if (now < refusal->until) return true;
        if (now >= refusal->secondEnds) {
            refusal->secondEnds = now + 1000;
            refusal->passed = 0;
        }
        if (++refusal->passed <= passesMaximum) continue;
        // It goes on flooding.
        begin(refusal, now);
        return true;
    }
    return false;
}
