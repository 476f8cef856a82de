#define _GNU_SOURCE
#include "CLiveRing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    topicsCount = 1 << 16,
    waitingDefault = 64 << 20,
    /// Of marks: more than mosquitto queues for a session.
    waitingMarks = 16 << 20,
    headSize = sizeof(struct liveRingEntry),
    markSize = headSize + sizeof(uint64_t),
    /// So many topics at one slot of the table are looked at: a client that makes up more has none of them left out.
    siblingsMaximum = 64,
};

/// An entry that found no room; its topic and payload, or hash, follow its head.
struct liveRingWaiting {
    struct liveRingWaiting *next, *previous;
    /// Another topic at the same place of the table, and what points to this one there; NULL where nothing does.
    struct liveRingWaiting *sibling, **link;
    struct liveRingEntry entry;
};

/// What is held of the ring for marks, which must not be left out.
static uint64_t heldForMarks(const struct liveRingWriter *writer) { return writer->capacity / 16; }

static void copy(void *to, const void *from, size_t count) {
    if (count) memcpy(to, from, count);
}

static uint64_t mix(uint64_t hash, const uint8_t *bytes, size_t count) {
    while (count) {
        uint64_t word = 0;
        size_t part = count < sizeof word ? count : sizeof word;
        memcpy(&word, bytes, part);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
        bytes += part;
        count -= part;
    }
    return hash;
}

uint64_t liveRingHash(const void *topic, size_t topicLength, const void *payload, size_t payloadLength) {
    uint64_t hash = mix(topicLength + 1, topic, topicLength);
    return mix(hash ^ (payloadLength + 1), payload, payloadLength);
}

// MARK: Room

/// Where an entry of this size begins; NULL where there is no room.
static uint8_t *place(struct liveRingWriter *writer, uint32_t size, uint64_t held) {
    uint64_t used = writer->head - __atomic_load_n(&writer->ring->tail, __ATOMIC_ACQUIRE);
    uint64_t offset = writer->head & (writer->capacity - 1), left = writer->capacity - offset;
    uint64_t filler = left < size ? left : 0;
    if (used > writer->capacity || filler + size + held > writer->capacity - used) return NULL;
    if (filler) {
        struct liveRingEntry entry = {.size = (uint32_t)filler, .kind = liveRingFiller};
        memcpy(writer->data + offset, &entry, 8);
        writer->head += filler;
    }
    return writer->data + (writer->head & (writer->capacity - 1));
}

/// What was written is there to read.
static void publish(struct liveRingWriter *writer, uint32_t size) {
    writer->head += size;
    __atomic_store_n(&writer->ring->head, writer->head, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&writer->ring->sleeps, __ATOMIC_SEQ_CST)) return;
    if (!__atomic_exchange_n(&writer->ring->sleeps, 0, __ATOMIC_SEQ_CST)) return;
    uint64_t one = 1;
    // It fails only where so much has woken the reader that it is awake.
    ssize_t count = write(writer->wake, &one, sizeof one);
    (void)count;
}

static uint32_t sizeOf(size_t topicLength, size_t payloadLength) {
    return (uint32_t)((headSize + topicLength + payloadLength + 7) & ~(size_t)7);
}

// MARK: What waits for room

static struct liveRingWaiting **bucket(struct liveRingWriter *writer, uint64_t hash) {
    return &writer->topics[hash & (topicsCount - 1)];
}

static void noteTopic(struct liveRingWriter *writer, struct liveRingWaiting *waiting, uint64_t hash) {
    waiting->link = bucket(writer, hash);
    waiting->sibling = *waiting->link;
    if (waiting->sibling) waiting->sibling->link = &waiting->sibling;
    *waiting->link = waiting;
}

static void forgetTopic(struct liveRingWaiting *waiting) {
    if (!waiting->link) return;
    *waiting->link = waiting->sibling;
    if (waiting->sibling) waiting->sibling->link = waiting->link;
    waiting->link = NULL;
}

static size_t *bytesOf(struct liveRingWriter *writer, uint8_t kind) {
    return kind == liveRingMark ? &writer->waitingMarkBytes : &writer->waitingBytes;
}

static void drop(struct liveRingWriter *writer, struct liveRingWaiting *waiting) {
    forgetTopic(waiting);
    *(waiting->previous ? &waiting->previous->next : &writer->first) = waiting->next;
    *(waiting->next ? &waiting->next->previous : &writer->last) = waiting->previous;
    *bytesOf(writer, waiting->entry.kind) -= sizeof *waiting + waiting->entry.size;
    free(waiting);
}

static struct liveRingWaiting *last(struct liveRingWriter *writer, uint64_t hash, const char *topic, size_t length) {
    struct liveRingWaiting *waiting = *bucket(writer, hash);
    for (int count = 0; waiting && count < siblingsMaximum; count++, waiting = waiting->sibling) {
        if (waiting->entry.topicLength == length && memcmp(waiting + 1, topic, length) == 0) return waiting;
    }
    return NULL;
}

/// An entry at the end of those that wait, to be filled; NULL where more than so much of its kind would wait.
static struct liveRingWaiting *append(struct liveRingWriter *writer, uint8_t kind, uint32_t size, size_t maximum) {
    size_t bytes = sizeof(struct liveRingWaiting) + size;
    if (*bytesOf(writer, kind) + bytes > maximum) return NULL;
    if (!writer->topics && !(writer->topics = calloc(topicsCount, sizeof *writer->topics))) return NULL;
    struct liveRingWaiting *waiting = calloc(1, bytes);
    if (!waiting) return NULL;
    waiting->entry.size = size;
    waiting->entry.kind = kind;
    waiting->previous = writer->last;
    *(writer->last ? &writer->last->next : &writer->first) = waiting;
    writer->last = waiting;
    *bytesOf(writer, kind) += bytes;
    __atomic_store_n(&writer->ring->isCrowded, 1, __ATOMIC_RELEASE);
    return waiting;
}

static bool wait(
    struct liveRingWriter *writer, const char *topic, size_t topicLength, const void *payload, size_t payloadLength) {
    uint64_t hash = liveRingHash(topic, topicLength, NULL, 0);
    struct liveRingWaiting *former = writer->topics ? last(writer, hash, topic, topicLength) : NULL;
    uint32_t leftOut = 0;
    if (former && former->entry.payloadLength) {
        leftOut = former->entry.leftOut + 1;
        drop(writer, former);
        former = NULL;
    }
    uint32_t size = sizeOf(topicLength, payloadLength);
    struct liveRingWaiting *waiting = append(writer, liveRingUpdate, size, writer->waitingBytesMaximum);
    if (!waiting) return false;
    waiting->entry.topicLength = (uint16_t)topicLength;
    waiting->entry.payloadLength = (uint32_t)payloadLength;
    waiting->entry.leftOut = leftOut;
    copy(waiting + 1, topic, topicLength);
    copy((uint8_t *)(waiting + 1) + topicLength, payload, payloadLength);
    // A clearing is never left out.
    if (former) forgetTopic(former);
    noteTopic(writer, waiting, hash);
    return true;
}

void liveRingContinue(struct liveRingWriter *writer) {
    while (writer->first) {
        struct liveRingWaiting *waiting = writer->first;
        uint8_t *to = place(writer, waiting->entry.size, heldForMarks(writer));
        if (!to) return;
        memcpy(to, &waiting->entry, headSize);
        memcpy(to + headSize, waiting + 1, waiting->entry.size - headSize);
        publish(writer, waiting->entry.size);
        drop(writer, waiting);
    }
    if (writer->ring->isCrowded) __atomic_store_n(&writer->ring->isCrowded, 0, __ATOMIC_RELEASE);
}

// MARK: What is put in

bool liveRingPut(
    struct liveRingWriter *writer, const char *topic, size_t topicLength, const void *payload, size_t payloadLength) {
    if (topicLength > UINT16_MAX || payloadLength > GEOMATCH_RING_UPDATE_MAXIMUM) return false;
    uint32_t size = sizeOf(topicLength, payloadLength);
    if (size > writer->capacity / 8) return false;
    liveRingContinue(writer);
    uint8_t *to = writer->first ? NULL : place(writer, size, heldForMarks(writer));
    if (!to) return wait(writer, topic, topicLength, payload, payloadLength);
    struct liveRingEntry entry = {
        .size = size,
        .kind = liveRingUpdate,
        .topicLength = (uint16_t)topicLength,
        .payloadLength = (uint32_t)payloadLength,
    };
    memcpy(to, &entry, headSize);
    copy(to + headSize, topic, topicLength);
    copy(to + headSize + topicLength, payload, payloadLength);
    publish(writer, size);
    return true;
}

void liveRingPutMark(struct liveRingWriter *writer, uint64_t hash) {
    liveRingContinue(writer);
    struct liveRingEntry entry = {.size = markSize, .kind = liveRingMark};
    uint8_t *to = writer->first ? NULL : place(writer, markSize, 0);
    if (to) {
        memcpy(to, &entry, headSize);
        memcpy(to + headSize, &hash, sizeof hash);
        return publish(writer, markSize);
    }
    // Without one its message is handled when it comes.
    struct liveRingWaiting *waiting = append(writer, liveRingMark, markSize, waitingMarks);
    if (!waiting) return;
    memcpy(waiting + 1, &hash, sizeof hash);
}

bool liveRingIsOpen(const struct liveRingWriter *writer, const char *client) {
    const struct liveRing *ring = writer->ring;
    return ring && __atomic_load_n(&ring->isOpen, __ATOMIC_ACQUIRE) && client
        && strncmp(client, ring->client, sizeof ring->client) == 0;
}

bool liveRingKeeps(const struct liveRingWriter *writer, const char *topic, uint8_t qos) {
    const struct liveRing *ring = writer->ring;
    uint32_t length = ring->keptLength < sizeof ring->kept ? ring->keptLength : sizeof ring->kept;
    return topic[0] == '$' || (qos > 0 && ring->keepsAssured) || strncmp(topic, ring->kept, length) == 0;
}

// MARK: The reader

/// The same descriptor above those that a child has under numbers of its own.
static int above(int descriptor) {
    if (descriptor < 0) return -1;
    int other = fcntl(descriptor, F_DUPFD_CLOEXEC, 10), reason = errno;
    close(descriptor);
    errno = reason;
    return other;
}

int liveRingMemory(size_t size) {
    int memory = above(memfd_create("geomatch-live", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (memory < 0) return memory;
    // Cut by the other process, it would end the one that reads it.
    if (ftruncate(memory, (off_t)size) == 0 && fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) return memory;
    int reason = errno;
    close(memory);
    errno = reason;
    return -1;
}

int liveRingWake(void) { return above(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

void liveRingMake(struct liveRing *ring, uint64_t capacity) {
    ring->magic = GEOMATCH_RING_MAGIC;
    ring->version = GEOMATCH_RING_VERSION;
    ring->capacity = capacity;
}

bool liveRingOpen(struct liveRing *ring, const char *client, const char *kept, bool keepsAssured) {
    size_t clientLength = strlen(client), keptLength = strlen(kept);
    if (clientLength >= sizeof ring->client || keptLength >= sizeof ring->kept) return false;
    memcpy(ring->client, client, clientLength + 1);
    memcpy(ring->kept, kept, keptLength + 1);
    ring->keptLength = (uint32_t)keptLength;
    ring->keepsAssured = keepsAssured;
    __atomic_store_n(&ring->isOpen, 1, __ATOMIC_SEQ_CST);
    return true;
}

// MARK: The memory

int64_t liveRingAttach(struct liveRingWriter *writer, int memory, int wake) {
    memset(writer, 0, sizeof *writer);
    struct stat status;
    if (fstat(memory, &status) != 0 || status.st_size <= GEOMATCH_RING_DATA) return -1;
    size_t size = (size_t)status.st_size;
    struct liveRing *ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (ring == MAP_FAILED) return -1;
    uint64_t capacity = size - GEOMATCH_RING_DATA;
    int64_t result = 0;
    if (ring->magic != GEOMATCH_RING_MAGIC) {
        result = -1;
    } else {
        __atomic_store_n(&ring->writer, GEOMATCH_RING_VERSION, __ATOMIC_RELEASE);
        if (ring->version != GEOMATCH_RING_VERSION) {
            result = ring->version;
        } else if (ring->capacity != capacity || (capacity & (capacity - 1)) != 0 || (ring->head & 7) != 0) {
            result = -1;
        }
    }
    if (result != 0) {
        munmap(ring, size);
        return result;
    }
    writer->ring = ring;
    writer->data = (uint8_t *)ring + GEOMATCH_RING_DATA;
    writer->capacity = capacity;
    // What an earlier writer left is still to be read.
    writer->head = ring->head;
    writer->wake = wake;
    writer->waitingBytesMaximum = waitingDefault;
    __atomic_store_n(&ring->isCrowded, 0, __ATOMIC_RELEASE);
    return 0;
}

void liveRingDetach(struct liveRingWriter *writer) {
    while (writer->first) drop(writer, writer->first);
    free(writer->topics);
    if (writer->ring) munmap(writer->ring, GEOMATCH_RING_DATA + writer->capacity);
    memset(writer, 0, sizeof *writer);
}
