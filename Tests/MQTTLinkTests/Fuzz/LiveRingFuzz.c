// Random messages through the plugin's part for live updates and its ring, read by a naive reader and compared with a naive queue.
// Built by LiveRingFuzzTests with the sanitizers; the ring's memory ends at a page that nobody may touch.
//
// Arguments: seed, rounds.

#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>

static void *guarded(void *where, size_t size, int protection, int flags, int file, long offset) {
    (void)where;
    size_t page = 4096, whole = (size + page - 1) / page * page;
    char *all = mmap(NULL, whole + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) return all;
    return mmap(all, size, protection, flags | MAP_FIXED, file, offset);
}

#define mmap guarded
#include "../../../Sources/CLiveRing/LiveRing.c"
#undef mmap
#include "../../../Sources/CBrokerPlugin/LiveUpdates.c"

const char *mosquitto_client_id(const struct mosquitto *client) { return (const char *)client; }
void mosquitto_log_printf(int level, const char *format, ...) {
    (void)level;
    (void)format;
}

static uint64_t state;

static uint64_t number(uint64_t below) {
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = (state ^ state >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % below;
}

#define check(condition)                                                             \
    do {                                                                             \
        if (!(condition)) {                                                          \
            fprintf(stderr, "line %d: %s does not hold\n", __LINE__, #condition);    \
            abort();                                                                 \
        }                                                                            \
    } while (0)

enum { topicsMaximum = 6, expectedMaximum = 4096 };

/// What was put in, in order.
struct expected {
    bool isMark;
    uint64_t hash;
    int topic;
    uint32_t length;
    uint8_t first;
};

static struct expected expected[expectedMaximum];
static size_t expectedCount;
static char topics[topicsMaximum][300];

/// Reads one entry as plainly as it goes and takes what stands before it off the queue.
static bool readOne(struct liveRing *shared, const uint8_t *data, uint64_t *tail) {
    uint64_t head = liveRingHead(shared), capacity = shared->capacity;
    check(head - *tail <= capacity);
    if (head == *tail) return false;
    const uint8_t *at = data + *tail % capacity;
    struct liveRingEntry entry = {0};
    memcpy(&entry, at, 8);
    check(entry.size >= 8 && entry.size % 8 == 0 && entry.size <= head - *tail && *tail % capacity + entry.size <= capacity);
    *tail += entry.size;
    liveRingReadTo(shared, *tail);
    if (entry.kind == liveRingFiller) return true;
    memcpy(&entry, at, sizeof entry);
    uint64_t hash = 0;
    if (entry.kind == liveRingMark) memcpy(&hash, at + sizeof entry, sizeof hash);
    uint32_t leftOut = 0;
    for (size_t index = 0; index < expectedCount; index++) {
        struct expected *one = &expected[index];
        bool isIt = one->isMark == (entry.kind == liveRingMark);
        if (isIt && one->isMark) isIt = one->hash == hash;
        if (isIt && !one->isMark) {
            isIt = one->length == entry.payloadLength && strlen(topics[one->topic]) == entry.topicLength
                && memcmp(topics[one->topic], at + sizeof entry, entry.topicLength) == 0
                && (!one->length || at[sizeof entry + entry.topicLength] == one->first);
        }
        if (!isIt || (!one->isMark && entry.leftOut != leftOut)) {
            // Left out: an update for which a newer one of its topic comes, never a mark or a clearing.
            bool isOfTopic = !one->isMark && entry.kind == liveRingUpdate && strlen(topics[one->topic]) == entry.topicLength
                && memcmp(topics[one->topic], at + sizeof entry, entry.topicLength) == 0;
            if (isOfTopic) {
                check(one->length > 0);
                leftOut++;
            }
            continue;
        }
        // Those of its topic before it are gone with it; the others keep their places.
        size_t kept = 0;
        for (size_t before = 0; before < index; before++) {
            bool isGone = entry.kind == liveRingUpdate && !expected[before].isMark && expected[before].topic == one->topic;
            if (isGone) continue;
            // What waits before an entry that was read waits only because a newer one of its topic took its place.
            check(!expected[before].isMark && expected[before].length > 0);
            expected[kept++] = expected[before];
        }
        memmove(expected + kept, expected + index + 1, (expectedCount - index - 1) * sizeof *expected);
        expectedCount -= index + 1 - kept;
        return true;
    }
    check(!"an entry that was put in");
    return false;
}

/// How often an entry found no room.
static unsigned crowded;

static void oneRound(uint64_t capacity) {
    int memory = liveRingMemory(GEOMATCH_RING_DATA + capacity), wake = liveRingWake();
    check(memory >= 0 && wake >= 0);
    struct liveRing *shared = mmap(NULL, GEOMATCH_RING_DATA + capacity, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    check(shared != MAP_FAILED);
    liveRingMake(shared, capacity);
    char memoryText[16], wakeText[16];
    snprintf(memoryText, sizeof memoryText, "%d", memory);
    snprintf(wakeText, sizeof wakeText, "%d", wake);
    liveUpdatesAttach(memoryText, wakeText);
    check(ring.ring && liveRingOpen(shared, "daemon", "geomatch/", number(2)));
    bool isAssured = shared->keepsAssured;
    const uint8_t *data = (const uint8_t *)shared + GEOMATCH_RING_DATA;
    uint64_t tail = 0;
    expectedCount = 0;
    for (int index = 0; index < topicsMaximum; index++) {
        size_t length = number(4) ? 1 + number(40) : 1 + number(290);
        memset(topics[index], 'a' + index, length);
        topics[index][length] = 0;
    }
    static uint8_t payload[GEOMATCH_RING_UPDATE_MAXIMUM + 64];
    uint64_t serial = 0;
    for (int step = 0; step < 2000 && expectedCount < expectedMaximum - 2; step++) {
        if (number(24) == 0) {
            for (uint64_t count = number(20); count && readOne(shared, data, &tail);) count--;
            if (!liveRingIsCrowded(shared)) continue;
            crowded++;
            liveUpdatesContinue();
            continue;
        }
        int topic = (int)number(topicsMaximum);
        uint64_t kind = number(12);
        size_t most = number(50) ? capacity / 8 : sizeof payload;
        size_t length = kind == 0 ? 0 : 1 + number(most > sizeof payload - 1 ? sizeof payload - 1 : most);
        payload[0] = (uint8_t)++serial;
        const char *name = kind == 1 ? "geomatch/d/c/request/device/get" : topics[topic];
        uint8_t qos = (uint8_t)number(3);
        struct accessEventData subscribe = {.client = (struct mosquitto *)"daemon", .topic = "#", .access = accessSubscribe};
        bool isReplayed = number(20) == 0;
        liveUpdatesNote();
        if (isReplayed) liveUpdatesHandOver(&subscribe);
        // An exact copy: the sanitizer sees each byte beyond it.
        void *copied = length ? malloc(length) : NULL;
        if (length) memcpy(copied, payload, length);
        char *copiedName = strdup(name);
        struct accessEventData message = {
            .client = (struct mosquitto *)(number(30) ? "daemon" : "another"),
            .topic = copiedName,
            .payload = copied,
            .payloadLength = (uint32_t)length,
            .access = accessRead,
            .qos = qos,
        };
        bool isHandedOver = liveUpdatesHandOver(&message);
        if (strcmp((const char *)message.client, "daemon") != 0) {
            check(!isHandedOver);
        } else if (isHandedOver) {
            check(kind != 1 && !isReplayed && length <= GEOMATCH_RING_UPDATE_MAXIMUM && !(isAssured && qos));
            expected[expectedCount++] =
                (struct expected){.topic = topic, .length = (uint32_t)length, .first = payload[0]};
        } else {
            expected[expectedCount++] = (struct expected){
                .isMark = true, .hash = liveRingHash(name, strlen(name), payload, length)};
        }
        free(copied);
        free(copiedName);
        if (number(10000) == 0) {
            // A reader that says nonsense of itself.
            uint64_t sound = shared->tail;
            shared->tail = number(2) ? sound + 8 * number(1 << 20) : state;
            liveUpdatesContinue();
            liveRingReadTo(shared, sound);
            // Whatever was written over is not to be read.
            liveUpdatesDetach();
            munmap(shared, GEOMATCH_RING_DATA + capacity);
            close(memory);
            close(wake);
            return;
        }
    }
    while (expectedCount) {
        while (readOne(shared, data, &tail)) {}
        if (expectedCount) check(liveRingIsCrowded(shared));
        liveUpdatesContinue();
    }
    check(!readOne(shared, data, &tail));
    liveUpdatesDetach();
    munmap(shared, GEOMATCH_RING_DATA + capacity);
    close(memory);
    close(wake);
}

int main(int count, char **arguments) {
    state = count > 1 ? strtoull(arguments[1], NULL, 10) : 1;
    int rounds = count > 2 ? atoi(arguments[2]) : 100;
    for (int index = 0; index < rounds; index++) oneRound(4096u << number(8));
    // Else it shows nothing.
    check(crowded > (unsigned)rounds);
    return 0;
}
