#include "Parts.h"

#include <stdio.h>
#include <stdlib.h>

char *fileText(const char *path) {
    FILE *file = fopen(path, "re");
    if (!file) return NULL;
    size_t count = 0, room = 1 << 16;
    char *text = malloc(room);
    while (text) {
        count += fread(text + count, 1, room - count - 1, file);
        if (count < room - 1) break;
        room *= 2;
        char *more = realloc(text, room);
        if (!more) free(text);
        text = more;
    }
    if (text) text[count] = 0;
    if (text && ferror(file)) {
        free(text);
        text = NULL;
    }
    fclose(file);
    return text;
}
