#define _GNU_SOURCE
#include "Mosquitto.h"
#include "Parts.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// mosquitto writes all it holds at each SIGUSR1, and serves nobody meanwhile: 30 ms for 10,000 retained messages, each second or two.
// Here a child does it, which has the memory as it was (`fork`), and serves nobody anyway. It is made with the first message behind the
// signal, as mosquitto 2.0.11 calls plugins on listeners of their own at no other time; where none comes, there is time to stop.

/// mosquitto's own; Debian's has it for plugins to find.
typedef int (*backupFunction)(bool isShutdown);

/// A folder of the child's, in that of the broker: what mosquitto saves itself when it ends has the same name.
#define FOLDER "saving"
#define FILE_NAME "mosquitto.db"

enum { childSeconds = 600 };

static backupFunction backUp;
static struct sigaction former, formerEnd, formerInterrupt;
static volatile sig_atomic_t isDue, child;

/// Whether the last child has ended; `status` is then how.
static bool hasEnded(int *status) {
    if (child == 0) return true;
    if (waitpid(child, status, WNOHANG) == 0) return false;
    child = 0;
    return true;
}

static void due(int signal) {
    int status, error = errno;
    // Since the last signal no message came.
    if (isDue && hasEnded(&status)) {
        isDue = 0;
        former.sa_handler(signal);
    } else {
        isDue = 1;
    }
    errno = error;
}

/// mosquitto saves before it ends: what a child has is older.
static void ending(int signal) {
    if (child > 0) kill(child, SIGKILL);
    (signal == SIGTERM ? formerEnd : formerInterrupt).sa_handler(signal);
}

static void closeAll(void) {
    // A connection that mosquitto closes is to end at once.
    if (syscall(SYS_close_range, 3u, ~0u, 0u) == 0) return;
    long most = sysconf(_SC_OPEN_MAX);
    for (int descriptor = 3; descriptor < most; descriptor++) close(descriptor);
}

static bool sameFile(const struct stat *a, const struct stat *b) {
    return a->st_ino == b->st_ino && a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void removeOwn(void) {
    unlink(FILE_NAME);
    unlink(FILE_NAME ".new");
}

static _Noreturn void saveAsChild(pid_t parent) {
    socketsForget();
    const int ends[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};
    for (size_t index = 0; index < sizeof ends / sizeof *ends; index++) signal(ends[index], SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    // A disk that hangs must not keep all later ones from being made.
    alarm(childSeconds);
    setpriority(PRIO_PROCESS, 0, 10);
    closeAll();
    struct stat before = {0}, now = {0};
    stat(FILE_NAME, &before);
    mkdir(FOLDER, 0700);
    if (chdir(FOLDER) != 0) _exit(1);
    bool isSaved = backUp(false) == 0;
    // What mosquitto saved itself meanwhile is newer.
    stat("../" FILE_NAME, &now);
    if (isSaved && sameFile(&before, &now)) isSaved = rename(FILE_NAME, "../" FILE_NAME) == 0;
    removeOwn();
    _exit(isSaved ? 0 : 1);
}

static void save(void) {
    pid_t parent = getpid(), made = fork();
    if (made == 0) saveAsChild(parent);
    if (made < 0) former.sa_handler(SIGUSR1);
    child = made > 0 ? made : 0;
}

static bool replace(int number, void (*handler)(int), struct sigaction *known) {
    if (sigaction(number, NULL, known) != 0 || known->sa_handler == SIG_DFL || known->sa_handler == SIG_IGN) return false;
    struct sigaction ours = *known;
    ours.sa_handler = handler;
    return sigaction(number, &ours, NULL) == 0;
}

static void takeOver(void) {
    backUp = (backupFunction)dlsym(RTLD_DEFAULT, "persist__backup");
    // mosquitto has set its own by now.
    if (!backUp || !replace(SIGTERM, ending, &formerEnd) || !replace(SIGINT, ending, &formerInterrupt)) return;
    replace(SIGUSR1, due, &former);
}

void savingEnd(void) {
    if (former.sa_handler) sigaction(SIGUSR1, &former, NULL);
    if (formerEnd.sa_handler) sigaction(SIGTERM, &formerEnd, NULL);
    if (formerInterrupt.sa_handler) sigaction(SIGINT, &formerInterrupt, NULL);
}

void savingProceed(void) {
    static bool isTakenOver;
    if (!isTakenOver) {
        isTakenOver = true;
        takeOver();
    }
    int status = 0;
    if (!hasEnded(&status)) return;
    if (status != 0) {
        // It had no room, or may not write: mosquitto says which.
        former.sa_handler(SIGUSR1);
    } else if (isDue) {
        isDue = 0;
        save();
    }
}
