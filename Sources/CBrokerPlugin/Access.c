#include "Mosquitto.h"
#include "Parts.h"

#include <stdlib.h>
#include <string.h>

/// One line of the list; `next` leads to the next one for the same user.
struct rule {
    /// NULL for patterns, which hold for all.
    const char *user;
    const char *filter;
    /// 0 denies.
    int access;
    /// Of two that match, the earlier line decides.
    size_t line;
};

struct access {
    char *text;
    struct rule *rules;
    size_t count;
};

/// By user, patterns first; within one in the order of the file.
static int byUser(const void *a, const void *b) {
    const struct rule *one = a, *other = b;
    int order = !one->user || !other->user ? (one->user != NULL) - (other->user != NULL) : strcmp(one->user, other->user);
    return order ? order : (one->line > other->line) - (one->line < other->line);
}

/// A word up to the next space; NULL at the end.
static char *word(char **rest) {
    while (*rest && **rest == ' ') (*rest)++;
    return *rest && **rest ? strsep(rest, " ") : NULL;
}

static void readLine(struct access *access, char *line, const char **user) {
    char *rest = line;
    const char *kind = word(&rest);
    if (!kind || kind[0] == '#') return;
    if (strcmp(kind, "user") == 0) {
        *user = rest;
        return;
    }
    bool isPattern = strcmp(kind, "pattern") == 0;
    if ((!isPattern && strcmp(kind, "topic") != 0) || (!isPattern && !*user)) return;
    struct rule rule = {.user = isPattern ? NULL : *user, .access = accessRead | accessWrite};
    const char *first = word(&rest);
    if (!first) return;
    rule.filter = rest;
    if (strcmp(first, "read") == 0) {
        rule.access = accessRead;
    } else if (strcmp(first, "write") == 0) {
        rule.access = accessWrite;
    } else if (strcmp(first, "deny") == 0) {
        rule.access = 0;
    } else if (strcmp(first, "readwrite") != 0) {
        return;
    }
    if (!rule.filter || !*rule.filter) return;
    rule.line = access->count + 1;
    access->rules[access->count++] = rule;
}

struct access *accessFromFile(const char *path) {
    struct access *access = calloc(1, sizeof *access);
    if (!access || !(access->text = fileText(path))) {
        accessFree(access);
        return NULL;
    }
    size_t lines = 1;
    for (const char *c = access->text; *c; c++) lines += *c == '\n';
    access->rules = calloc(lines, sizeof *access->rules);
    if (!access->rules) {
        accessFree(access);
        return NULL;
    }
    char *rest = access->text, *line;
    const char *user = NULL;
    while ((line = strsep(&rest, "\n"))) readLine(access, line, &user);
    qsort(access->rules, access->count, sizeof *access->rules, byUser);
    return access;
}

void accessFree(struct access *access) {
    if (!access) return;
    free(access->text);
    free(access->rules);
    free(access);
}

/// A level against a level of a filter in which `*` is any run of characters. Greedy, in linear space.
static bool levelMatches(const char *p, size_t pattern, const char *t, size_t level) {
    size_t i = 0, j = 0, resume = 0;
    size_t star = SIZE_MAX;
    while (j < level) {
        if (i < pattern && p[i] == '*') {
            star = i++;
            resume = j;
        } else if (i < pattern && p[i] == t[j]) {
            i++;
            j++;
        } else if (star != SIZE_MAX) {
            i = star + 1;
            j = ++resume;
        } else {
            return false;
        }
    }
    while (i < pattern && p[i] == '*') i++;
    return i == pattern;
}

static bool matches(const char *filter, const char *topic, const char *user) {
    // Wildcards at the beginning do not lead into trees that begin with a dollar sign.
    if (topic[0] == '$' && filter[0] != '$') return false;
    while (true) {
        size_t pattern = strcspn(filter, "/"), level = strcspn(topic, "/");
        if (pattern == 1 && filter[0] == '#') return true;
        bool fits;
        if (pattern == 1 && filter[0] == '+') {
            fits = true;
        } else if (pattern == 2 && memcmp(filter, "%u", 2) == 0) {
            fits = strlen(user) == level && memcmp(user, topic, level) == 0;
        } else {
            fits = levelMatches(filter, pattern, topic, level);
        }
        if (!fits) return false;
        filter += pattern;
        topic += level;
        if (!*topic) return !*filter || strcmp(filter, "/#") == 0;
        if (!*filter) return false;
        filter++;
        topic++;
    }
}

/// -1 denied, 1 granted, 0 nothing said, by the rules of one user or by the patterns.
static int decision(const struct access *access, const char *of, const char *user, const char *topic, int wanted) {
    size_t low = 0, high = access->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        struct rule first = {.user = of};
        if (byUser(&access->rules[middle], &first) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < access->count; low++) {
        const struct rule *rule = &access->rules[low];
        if (of ? (!rule->user || strcmp(rule->user, of) != 0) : rule->user != NULL) break;
        if ((rule->access && !(rule->access & wanted)) || !matches(rule->filter, topic, user)) continue;
        return rule->access ? 1 : -1;
    }
    return 0;
}

bool accessGrants(const struct access *access, const char *user, const char *topic, int wanted) {
    int own = decision(access, user, user, topic, wanted);
    return own ? own > 0 : decision(access, NULL, user, topic, wanted) > 0;
}
