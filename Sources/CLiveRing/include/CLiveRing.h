#ifndef GEOMATCH_LIVE_RING_H
#define GEOMATCH_LIVE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Live updates on their way from the plugin in the embedded broker to the daemon: memory that both map, one writer, one reader.
//
// The file begins with `struct liveRing`; at GEOMATCH_RING_DATA the ring's bytes begin. `head` and `tail` count bytes since the
// beginning and only rise; their offset in the ring is the remainder of the division by `capacity`. The length of an entry is a
// multiple of eight bytes, and none goes beyond the end of the ring: what is left there is a filler.
//
// An update is an entry with topic and payload. What goes over MQTT to the daemon leaves a mark, an entry with the hash of topic and
// payload, so that the daemon handles both in the order in which the broker took them.
//
// Neither end trusts what the other wrote: whatever that is, nothing outside of the ring is read or written.

#define GEOMATCH_RING_VERSION 1
#define GEOMATCH_RING_MAGIC 0x676e69526f656721u
#define GEOMATCH_RING_DATA 4096
/// Updates that are longer go over MQTT.
#define GEOMATCH_RING_UPDATE_MAXIMUM (256 << 10)

enum {
    liveRingFiller = 0,
    liveRingUpdate = 1,
    liveRingMark = 2,
};

/// The head of an entry; of a filler only the first eight bytes are there.
struct liveRingEntry {
    /// Of all of it.
    uint32_t size;
    uint8_t kind;
    uint8_t unused;
    uint16_t topicLength;
    uint32_t payloadLength;
    /// How many older updates of the topic were left out for this one.
    uint32_t leftOut;
};

struct liveRing {
    // The daemon's.
    uint64_t magic;
    uint64_t capacity;
    uint32_t version;
    /// Updates for the client are handed over.
    uint32_t isOpen;
    /// The reader waits for the descriptor.
    uint32_t sleeps;
    uint32_t keptLength;
    /// Whose messages are handed over.
    char client[64];
    /// What was published at a higher QoS than 0 goes over MQTT, too.
    uint32_t keepsAssured;
    uint32_t unused;
    /// Topics that begin so, and those that begin with a dollar sign, go over MQTT.
    char kept[256];
    // The plugin's.
    /// What it speaks; 0: nothing has attached.
    uint32_t writer;
    /// Entries wait for room.
    uint32_t isCrowded;
    /// `head` and `tail` are each in a cache line of their own.
    uint64_t apart[8];
    uint64_t head;
    uint64_t apartToo[8];
    // The daemon's.
    uint64_t tail;
};

uint64_t liveRingHash(const void *topic, size_t topicLength, const void *payload, size_t payloadLength);

// MARK: The writer

struct liveRingWaiting;

struct liveRingWriter {
    struct liveRing *ring;
    uint8_t *data;
    uint64_t capacity;
    uint64_t head;
    int wake;
    /// What found no room, in order: the newest update of a topic, every clearing, every mark.
    struct liveRingWaiting *first, *last;
    /// The last one of each topic, by hash.
    struct liveRingWaiting **topics;
    /// Of updates and of marks.
    size_t waitingBytes, waitingMarkBytes;
    /// What may wait for room of updates.
    size_t waitingBytesMaximum;
};

/// Maps the memory behind a descriptor; `wake` is an eventfd.
///
/// - Returns: 0; the reader's version where it is another one; -1 where it is no such memory.
int64_t liveRingAttach(struct liveRingWriter *writer, int memory, int wake);
void liveRingDetach(struct liveRingWriter *writer);
/// Whether what goes to a client is handed over.
bool liveRingIsOpen(const struct liveRingWriter *writer, const char *client);
/// Whether a message stays with MQTT.
bool liveRingKeeps(const struct liveRingWriter *writer, const char *topic, uint8_t qos);
/// False where it must go another way.
bool liveRingPut(
    struct liveRingWriter *writer, const char *topic, size_t topicLength, const void *payload, size_t payloadLength);
void liveRingPutMark(struct liveRingWriter *writer, uint64_t hash);
/// Moves entries that waited for room into the ring, as many as fit.
void liveRingContinue(struct liveRingWriter *writer);

// MARK: The reader: what is more than plain memory

static inline uint64_t liveRingHead(const struct liveRing *ring) { return __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE); }
static inline void liveRingReadTo(struct liveRing *ring, uint64_t tail) {
    __atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
}
static inline uint32_t liveRingWriterVersion(const struct liveRing *ring) {
    return __atomic_load_n(&ring->writer, __ATOMIC_ACQUIRE);
}
static inline void liveRingForgetWriter(struct liveRing *ring) { __atomic_store_n(&ring->writer, 0, __ATOMIC_RELEASE); }
static inline bool liveRingIsCrowded(const struct liveRing *ring) {
    return __atomic_load_n(&ring->isCrowded, __ATOMIC_ACQUIRE);
}
/// Makes memory of so many bytes, all zero, and an eventfd; -1 with `errno`. The descriptors are 10 or above: a child inherits them as
/// lower ones.
int liveRingMemory(size_t size);
int liveRingWake(void);
/// Makes an empty ring of memory that is all zero.
void liveRingMake(struct liveRing *ring, uint64_t capacity);
/// What goes to the client is handed over from now on; false where one of the names is too long.
bool liveRingOpen(struct liveRing *ring, const char *client, const char *kept, bool keepsAssured);
static inline void liveRingClose(struct liveRing *ring) { __atomic_store_n(&ring->isOpen, 0, __ATOMIC_SEQ_CST); }
/// Asks for a wake-up by the descriptor; false where there is something to read already.
static inline bool liveRingSleep(struct liveRing *ring, uint64_t tail) {
    __atomic_store_n(&ring->sleeps, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&ring->head, __ATOMIC_SEQ_CST) == tail) return true;
    __atomic_store_n(&ring->sleeps, 0, __ATOMIC_RELAXED);
    return false;
}

#endif
