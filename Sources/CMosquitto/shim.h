#include <mosquitto.h>
#include <mqtt_protocol.h>
/* What the link and the embedded broker need of Linux beyond Swift's Glibc module: the loop's wake-up, and starting a
 * child that inherits nothing. The last three are hidden behind _GNU_SOURCE, which a module cannot set for others. */
#include <spawn.h>
#include <sys/eventfd.h>
extern int pipe2(int ends[2], int flags);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
