#ifndef GEOMATCH_PLUGIN_PARTS_H
#define GEOMATCH_PLUGIN_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct accessEventData;
struct mosquitto;

// Users.c

/// Who may log in: a mosquitto password file.
struct users;
/// NULL where the file cannot be read.
struct users *usersRead(const char *path);
void usersFree(struct users *users);
bool usersLetIn(const struct users *users, const char *name, const char *password);
/// Calls `gone` with each name whose line `to` lacks or has otherwise.
void usersCompare(const struct users *from, const struct users *to, void (*gone)(const char *name));

// Access.c

/// Who may read and write what.
struct access;
/// NULL where the file cannot be read.
struct access *accessFromFile(const char *path);
void accessFree(struct access *access);
/// `wanted` is accessRead or accessWrite.
bool accessGrants(const struct access *access, const char *user, const char *topic, int wanted);

// Memory.c

void memoryBound(size_t bytes);
/// Whether a message of a client may be kept; counts it as the user's where it may.
bool memoryTakes(const char *user, uint32_t bytes);

// Refusals.c

/// Nobody may publish on topics that begin so for a second, nor, for ten seconds, more than a hundred messages in a second.
void refusalsAdd(const char *prefix, size_t length);
bool refusalsHold(const char *topic);

// Connections.c

/// Watches the connections of the listeners at these ports and the life of the daemon; started once.
void connectionsWatch(int port, int loginSeconds);
void connectionsLoggedIn(const struct mosquitto *client);

// LiveUpdates.c

/// Takes up the memory and the eventfd that were inherited under these numbers.
void liveUpdatesAttach(const char *memory, const char *wake);
void liveUpdatesDetach(void);
/// Somebody published.
void liveUpdatesNote(void);
/// Whether a message to the daemon went into the memory, so that mosquitto need not send it.
bool liveUpdatesHandOver(const struct accessEventData *message);
/// The daemon has made room.
void liveUpdatesContinue(void);

// Sockets.c

/// Whether sockets are read and written in batches; known once mosquitto has begun to listen.
bool socketsAreServed(void);
/// In a child, which has copies of what its parent is to send.
void socketsForget(void);

// Saving.c

/// With each message, before it changes anything.
void savingProceed(void);
/// The plugin goes.
void savingEnd(void);

// Files.c

/// A file's bytes and a NUL behind them; NULL where it cannot be read. For the caller to free.
char *fileText(const char *path);

#endif
