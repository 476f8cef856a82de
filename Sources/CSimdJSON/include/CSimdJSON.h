#ifndef GEOMATCH_CSIMDJSON_H
#define GEOMATCH_CSIMDJSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A C face of simdjson: a payload becomes a flat pre-order array of nodes that Swift walks by pointer
// arithmetic, without a call for each element.

#ifdef __cplusplus
extern "C" {
#endif

enum {
    GEOMATCH_JSON_NULL = 0,
    GEOMATCH_JSON_BOOL = 1,
    GEOMATCH_JSON_INTEGER = 2,
    GEOMATCH_JSON_DOUBLE = 3,
    GEOMATCH_JSON_STRING = 4,
    GEOMATCH_JSON_ARRAY = 5,
    GEOMATCH_JSON_OBJECT = 6
};

enum {
    GEOMATCH_JSON_OK = 0,
    GEOMATCH_JSON_TOO_LARGE = 1,
    GEOMATCH_JSON_TOO_DEEP = 2,
    GEOMATCH_JSON_NOT_UTF8 = 3,
    GEOMATCH_JSON_NUMBER = 4,
    GEOMATCH_JSON_STRING_LITERAL = 5,
    GEOMATCH_JSON_EMPTY = 6,
    GEOMATCH_JSON_SYNTAX = 7,
    GEOMATCH_JSON_MEMORY = 8
};

/// Payloads above this are refused unread, in bytes.
#define GEOMATCH_JSON_LENGTH_MAX (1u << 20)
/// Containers within containers.
#define GEOMATCH_JSON_DEPTH_MAX 64
/// Bytes that must be readable behind a payload passed as padded.
#define GEOMATCH_JSON_PADDING 64

/// One value, or the key in front of one inside an object (a key is a string node).
typedef struct {
    /// Integer: its bits. Double: its bits. Bool: 0 or 1. String: address of its UTF-8 bytes, valid until
    /// the next parse. Array and object: the number of nodes of the whole subtree, this one included.
    uint64_t value;
    /// String: bytes. Array: elements. Object: members.
    uint32_t count;
    uint32_t kind;
} geomatch_json_node;

typedef struct geomatch_json_parser geomatch_json_parser;

/// NULL when there is no memory. A parser belongs to one thread at a time.
geomatch_json_parser *geomatch_json_create(void);
void geomatch_json_destroy(geomatch_json_parser *parser);

/// Parses strict JSON (RFC 8259, UTF-8 checked); `*root` is valid until the next parse or the end of the
/// parser. `padded` promises GEOMATCH_JSON_PADDING readable bytes behind `bytes + length`; without it the
/// payload is copied. Integers that do not fit int64_t become doubles. Allocates nothing once it has seen
/// a payload as long.
int geomatch_json_parse(
    geomatch_json_parser *parser, const uint8_t *bytes, size_t length, bool padded,
    const geomatch_json_node **root);

typedef struct geomatch_plain_json_parser geomatch_plain_json_parser;

/// The same without simdjson, which the calls above use where that is not linked.
geomatch_plain_json_parser *geomatch_plain_json_create(void);
void geomatch_plain_json_destroy(geomatch_plain_json_parser *parser);
int geomatch_plain_json_parse(
    geomatch_plain_json_parser *parser, const uint8_t *bytes, size_t length, const geomatch_json_node **root);

/// Whether the `length` bytes at `left` and `right` are the same.
static inline bool geomatch_json_same(const uint8_t *left, const uint8_t *right, size_t length) {
    return __builtin_memcmp(left, right, length) == 0;
}

#ifdef __cplusplus
}
#endif

#endif
