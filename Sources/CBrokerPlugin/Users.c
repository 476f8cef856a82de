#include "Parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// OpenSSL, which mosquitto itself has loaded.
extern const void *EVP_sha512(void);
extern int EVP_Digest(
    const void *data, size_t count, unsigned char *digest, unsigned int *size, const void *type, void *engine);
extern int PKCS5_PBKDF2_HMAC(
    const char *password, int passwordLength, const unsigned char *salt, int saltLength, int iterations, const void *digest,
    int length, unsigned char *out);

enum { hashLength = 64, saltMaximum = 128 };

struct user {
    /// The name, a NUL, the rest of the line: both into the text.
    const char *name;
    const char *line;
    unsigned char salt[saltMaximum];
    unsigned char hash[hashLength];
    int saltLength;
    /// 0: one SHA-512 over the password and the salt.
    int iterations;
};

struct users {
    char *text;
    struct user *list;
    size_t count;
};

static int digit(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == '+') return 62;
    return c == '/' ? 63 : -1;
}

/// Decodes base64 up to `end`; the number of bytes, or -1.
static int decoded(const char *text, const char *end, unsigned char *out, int maximum) {
    uint32_t bits = 0;
    int held = 0, count = 0;
    for (; text < end && *text != '='; text++) {
        int value = digit(*text);
        if (value < 0) return -1;
        bits = bits << 6 | (uint32_t)value;
        held += 6;
        if (held < 8) continue;
        held -= 8;
        if (count == maximum) return -1;
        out[count++] = (unsigned char)(bits >> held);
    }
    return count;
}

/// `$7$iterations$salt$hash` or `$6$salt$hash`.
static bool readHash(struct user *user, const char *line) {
    user->line = line;
    if (line[0] != '$' || (line[1] != '6' && line[1] != '7') || line[2] != '$') return false;
    const char *salt = line + 3;
    if (line[1] == '7') {
        char *end;
        long iterations = strtol(salt, &end, 10);
        if (*end != '$' || iterations < 1 || iterations > 10000000) return false;
        user->iterations = (int)iterations;
        salt = end + 1;
    }
    const char *hash = strchr(salt, '$');
    if (!hash) return false;
    user->saltLength = decoded(salt, hash, user->salt, saltMaximum);
    return user->saltLength > 0 && decoded(hash + 1, hash + strlen(hash), user->hash, hashLength) == hashLength;
}

static int byName(const void *a, const void *b) {
    return strcmp(((const struct user *)a)->name, ((const struct user *)b)->name);
}

struct users *usersRead(const char *path) {
    struct users *users = calloc(1, sizeof *users);
    if (!users || !(users->text = fileText(path))) {
        usersFree(users);
        return NULL;
    }
    size_t lines = 1;
    for (const char *c = users->text; *c; c++) lines += *c == '\n';
    users->list = calloc(lines, sizeof *users->list);
    if (!users->list) {
        usersFree(users);
        return NULL;
    }
    char *rest = users->text, *line;
    while ((line = strsep(&rest, "\n"))) {
        char *colon = strchr(line, ':');
        if (!colon) continue;
        *colon = 0;
        struct user *user = &users->list[users->count];
        user->name = line;
        if (readHash(user, colon + 1)) users->count++;
    }
    qsort(users->list, users->count, sizeof *users->list, byName);
    return users;
}

void usersFree(struct users *users) {
    if (!users) return;
    free(users->text);
    free(users->list);
    free(users);
}

static const struct user *find(const struct users *users, const char *name) {
    struct user wanted = {.name = name};
    return users->count ? bsearch(&wanted, users->list, users->count, sizeof wanted, byName) : NULL;
}

bool usersLetIn(const struct users *users, const char *name, const char *password) {
    const struct user *user = name ? find(users, name) : NULL;
    if (!user || !password) return false;
    unsigned char hash[hashLength];
    size_t length = strlen(password);
    if (user->iterations) {
        if (PKCS5_PBKDF2_HMAC(
                password, (int)length, user->salt, user->saltLength, user->iterations, EVP_sha512(), hashLength, hash) != 1) {
            return false;
        }
    } else {
        unsigned char *both = malloc(length + saltMaximum);
        if (!both) return false;
        memcpy(both, password, length);
        memcpy(both + length, user->salt, (size_t)user->saltLength);
        unsigned int size = 0;
        int done = EVP_Digest(both, length + (size_t)user->saltLength, hash, &size, EVP_sha512(), NULL);
        free(both);
        if (done != 1 || size != hashLength) return false;
    }
    // Takes as long wherever the first difference is.
    unsigned char difference = 0;
    for (int index = 0; index < hashLength; index++) difference |= hash[index] ^ user->hash[index];
    return difference == 0;
}

void usersCompare(const struct users *from, const struct users *to, void (*gone)(const char *name)) {
    for (size_t index = 0; index < from->count; index++) {
        const struct user *now = find(to, from->list[index].name);
        if (!now || strcmp(now->line, from->list[index].line) != 0) gone(from->list[index].name);
    }
}
