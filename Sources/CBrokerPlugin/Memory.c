#include "Mosquitto.h"
#include "Parts.h"

#include <malloc.h>
#include <string.h>

// From half the bound on each user may add a sixteenth of it, from the bound on nobody anything: so one that parks sessions
// or retains without end does not take the rest from others.

enum {
    usersMaximum = 4096,
    nameMaximum = 64,
    /// Looking costs a walk over what is free.
    bytesBetweenLooks = 1 << 20,
};

static struct {
    size_t bound;
    size_t used;
    size_t sinceLook;
    bool isTight, isFull;
    int userCount;
    struct {
        char name[nameMaximum + 1];
        size_t bytes;
    } users[usersMaximum];
} memory;

void memoryBound(size_t bytes) {
    memory.bound = bytes;
    memory.sinceLook = bytesBetweenLooks;
}

static void look(void) {
    memory.sinceLook = 0;
    struct mallinfo2 info = mallinfo2();
    memory.used = info.uordblks + info.hblkhd;
    bool isTight = memory.used > memory.bound / 2;
    if (isTight && !memory.isTight) {
        mosquitto_log_printf(
            logWarning, "Warning: half of the memory for sessions and retained messages is used: each user may add %zu bytes",
            memory.bound / 16);
    }
    if (!isTight) memory.userCount = 0;
    memory.isTight = isTight;
    bool isFull = memory.used > memory.bound;
    if (isFull && !memory.isFull) {
        mosquitto_log_printf(
            logWarning, "Warning: Out of memory for sessions and retained messages: nothing more is kept for clients");
    }
    memory.isFull = isFull;
}

/// What a user added since half is used; NULL where too many did.
static size_t *added(const char *user) {
    for (int index = 0; index < memory.userCount; index++) {
        if (strcmp(memory.users[index].name, user) == 0) return &memory.users[index].bytes;
    }
    if (memory.userCount == usersMaximum || strlen(user) > nameMaximum) return NULL;
    strcpy(memory.users[memory.userCount].name, user);
    memory.users[memory.userCount].bytes = 0;
    return &memory.users[memory.userCount++].bytes;
}

bool memoryTakes(const char *user, uint32_t bytes) {
    if (memory.bound == 0) return true;
    size_t cost = (size_t)bytes + 512;
    memory.sinceLook += cost;
    if (memory.sinceLook >= bytesBetweenLooks) look();
    if (!memory.isTight) return true;
    size_t *own = added(user ? user : "");
    if (memory.isFull || !own || (user && *own + cost > memory.bound / 16)) return false;
    *own += cost;
    return true;
}
