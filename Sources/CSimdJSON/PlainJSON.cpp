#include "CSimdJSON.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

// The same nodes without simdjson, a byte at a time: for the client library where there is no such library to link.

namespace {

constexpr size_t keptCapacityMax = 128 * 1024;

bool isSpace(uint8_t byte) noexcept { return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t'; }
bool isDigit(uint8_t byte) noexcept { return byte >= '0' && byte <= '9'; }

/// RFC 3629, no surrogates, nothing longer than it need be.
bool isUTF8(const uint8_t *at, const uint8_t *end) noexcept {
    while (at < end) {
        const uint8_t first = *at++;
        if (first < 0x80) { continue; }
        size_t rest = 0;
        uint8_t low = 0x80, high = 0xBF;
        if (first >= 0xC2 && first <= 0xDF) {
            rest = 1;
        } else if (first >= 0xE0 && first <= 0xEF) {
            rest = 2;
            if (first == 0xE0) { low = 0xA0; }
            if (first == 0xED) { high = 0x9F; }
        } else if (first >= 0xF0 && first <= 0xF4) {
            rest = 3;
            if (first == 0xF0) { low = 0x90; }
            if (first == 0xF4) { high = 0x8F; }
        } else {
            return false;
        }
        for (; rest > 0; rest--, low = 0x80, high = 0xBF) {
            if (at == end || *at < low || *at > high) { return false; }
            at++;
        }
    }
    return true;
}

int hexadecimal(const uint8_t *at) noexcept {
    int value = 0;
    for (int index = 0; index < 4; index++) {
        const uint8_t byte = at[index];
        const uint8_t letter = byte | 0x20;
        if (isDigit(byte)) {
            value = value * 16 + (byte - '0');
        } else if (letter >= 'a' && letter <= 'f') {
            value = value * 16 + (letter - 'a' + 10);
        } else {
            return -1;
        }
    }
    return value;
}

}  // namespace

struct geomatch_plain_json_parser {
    geomatch_json_node *nodes = nullptr;
    size_t nodeCapacity = 0;
    uint32_t written = 0;
    /// Of the strings, decoded; no longer than the payload.
    uint8_t *strings = nullptr;
    size_t stringCapacity = 0;
    uint8_t *stringEnd = nullptr;

    ~geomatch_plain_json_parser() { release(); }

    int parse(const uint8_t *bytes, size_t length) noexcept;

private:
    const uint8_t *at = nullptr;
    const uint8_t *end = nullptr;

    void release() noexcept;
    bool prepare(size_t length) noexcept;
    geomatch_json_node *add(uint32_t kind) noexcept;
    void skipSpace() noexcept { while (at < end && isSpace(*at)) { at++; } }
    int document() noexcept;
    int scalar() noexcept;
    int word(const char *text, uint32_t kind, uint64_t value) noexcept;
    int string() noexcept;
    int escape() noexcept;
    int number() noexcept;
};

void geomatch_plain_json_parser::release() noexcept {
    std::free(nodes);
    std::free(strings);
    nodes = nullptr;
    strings = nullptr;
    nodeCapacity = stringCapacity = 0;
}

bool geomatch_plain_json_parser::prepare(size_t length) noexcept {
    if (stringCapacity > keptCapacityMax && length <= keptCapacityMax) { release(); }
    written = 0;
    if (length > stringCapacity) {
        std::free(strings);
        stringCapacity = 0;
        strings = static_cast<uint8_t *>(std::malloc(length));
        if (strings == nullptr) { return false; }
        stringCapacity = length;
    }
    stringEnd = strings;
    return true;
}

geomatch_json_node *geomatch_plain_json_parser::add(uint32_t kind) noexcept {
    if (written == nodeCapacity) {
        const size_t capacity = nodeCapacity == 0 ? 256 : nodeCapacity * 2;
        void *grown = std::realloc(nodes, capacity * sizeof(geomatch_json_node));
        if (grown == nullptr) { return nullptr; }
        nodes = static_cast<geomatch_json_node *>(grown);
        nodeCapacity = capacity;
    }
    geomatch_json_node *node = nodes + written++;
    node->kind = kind;
    node->count = 0;
    node->value = 0;
    return node;
}

int geomatch_plain_json_parser::parse(const uint8_t *bytes, size_t length) noexcept {
    if (!prepare(length)) { return GEOMATCH_JSON_MEMORY; }
    at = bytes;
    end = bytes + length;
    if (!isUTF8(at, end)) { return GEOMATCH_JSON_NOT_UTF8; }
    skipSpace();
    if (at == end) { return GEOMATCH_JSON_EMPTY; }
    if (const int error = document()) { return error; }
    skipSpace();
    return at == end ? GEOMATCH_JSON_OK : GEOMATCH_JSON_SYNTAX;
}

/// A value with all that is in it, without recursion.
int geomatch_plain_json_parser::document() noexcept {
    uint32_t open[GEOMATCH_JSON_DEPTH_MAX];
    size_t depth = 0;
    while (true) {
        // A value begins here, or a member of an object.
        skipSpace();
        if (at == end) { return GEOMATCH_JSON_SYNTAX; }
        if (depth > 0 && nodes[open[depth - 1]].kind == GEOMATCH_JSON_OBJECT) {
            if (*at != '"') { return GEOMATCH_JSON_SYNTAX; }
            if (const int error = string()) { return error; }
            skipSpace();
            if (at == end || *at++ != ':') { return GEOMATCH_JSON_SYNTAX; }
            skipSpace();
            if (at == end) { return GEOMATCH_JSON_SYNTAX; }
        }
        if (depth > 0) { nodes[open[depth - 1]].count++; }
        if (*at == '{' || *at == '[') {
            const uint8_t close = *at == '{' ? '}' : ']';
            if (add(*at++ == '{' ? GEOMATCH_JSON_OBJECT : GEOMATCH_JSON_ARRAY) == nullptr) { return GEOMATCH_JSON_MEMORY; }
            skipSpace();
            if (at < end && *at == close) {
                at++;
                nodes[written - 1].value = 1;
            } else {
                if (depth + 1 >= GEOMATCH_JSON_DEPTH_MAX) { return GEOMATCH_JSON_TOO_DEEP; }
                open[depth++] = written - 1;
                continue;
            }
        } else if (const int error = scalar()) {
            return error;
        }
        // A value ended here: more follows it, or what it is in ends, too.
        while (true) {
            if (depth == 0) { return GEOMATCH_JSON_OK; }
            skipSpace();
            if (at == end) { return GEOMATCH_JSON_SYNTAX; }
            const uint8_t byte = *at++;
            if (byte == ',') { break; }
            geomatch_json_node &container = nodes[open[depth - 1]];
            if (byte != (container.kind == GEOMATCH_JSON_OBJECT ? '}' : ']')) { return GEOMATCH_JSON_SYNTAX; }
            container.value = written - open[--depth];
        }
    }
}

int geomatch_plain_json_parser::scalar() noexcept {
    switch (*at) {
    case '"': return string();
    case 't': return word("true", GEOMATCH_JSON_BOOL, 1);
    case 'f': return word("false", GEOMATCH_JSON_BOOL, 0);
    case 'n': return word("null", GEOMATCH_JSON_NULL, 0);
    default: return *at == '-' || isDigit(*at) ? number() : GEOMATCH_JSON_SYNTAX;
    }
}

int geomatch_plain_json_parser::word(const char *text, uint32_t kind, uint64_t value) noexcept {
    const size_t length = std::strlen(text);
    if (static_cast<size_t>(end - at) < length || std::memcmp(at, text, length) != 0) { return GEOMATCH_JSON_SYNTAX; }
    at += length;
    geomatch_json_node *node = add(kind);
    if (node == nullptr) { return GEOMATCH_JSON_MEMORY; }
    node->value = value;
    return GEOMATCH_JSON_OK;
}

int geomatch_plain_json_parser::string() noexcept {
    const uint8_t *start = stringEnd;
    at++;
    while (true) {
        if (at == end || *at < 0x20) { return GEOMATCH_JSON_STRING_LITERAL; }
        const uint8_t byte = *at++;
        if (byte == '"') { break; }
        if (byte != '\\') {
            *stringEnd++ = byte;
        } else if (const int error = escape()) {
            return error;
        }
    }
    geomatch_json_node *node = add(GEOMATCH_JSON_STRING);
    if (node == nullptr) { return GEOMATCH_JSON_MEMORY; }
    node->value = reinterpret_cast<uintptr_t>(start);
    node->count = static_cast<uint32_t>(stringEnd - start);
    return GEOMATCH_JSON_OK;
}

/// What follows a backslash.
int geomatch_plain_json_parser::escape() noexcept {
    if (at == end) { return GEOMATCH_JSON_STRING_LITERAL; }
    const uint8_t byte = *at++;
    switch (byte) {
    case '"':
    case '\\':
    case '/': *stringEnd++ = byte; return GEOMATCH_JSON_OK;
    case 'b': *stringEnd++ = '\b'; return GEOMATCH_JSON_OK;
    case 'f': *stringEnd++ = '\f'; return GEOMATCH_JSON_OK;
    case 'n': *stringEnd++ = '\n'; return GEOMATCH_JSON_OK;
    case 'r': *stringEnd++ = '\r'; return GEOMATCH_JSON_OK;
    case 't': *stringEnd++ = '\t'; return GEOMATCH_JSON_OK;
    case 'u': break;
    default: return GEOMATCH_JSON_STRING_LITERAL;
    }
    if (end - at < 4) { return GEOMATCH_JSON_STRING_LITERAL; }
    int scalar = hexadecimal(at);
    at += 4;
    if (scalar < 0 || (scalar >= 0xDC00 && scalar <= 0xDFFF)) { return GEOMATCH_JSON_STRING_LITERAL; }
    if (scalar >= 0xD800 && scalar < 0xDC00) {
        if (end - at < 6 || at[0] != '\\' || at[1] != 'u') { return GEOMATCH_JSON_STRING_LITERAL; }
        const int second = hexadecimal(at + 2);
        if (second < 0xDC00 || second > 0xDFFF) { return GEOMATCH_JSON_STRING_LITERAL; }
        at += 6;
        scalar = 0x10000 + ((scalar - 0xD800) << 10) + (second - 0xDC00);
    }
    if (scalar < 0x80) {
        *stringEnd++ = static_cast<uint8_t>(scalar);
    } else if (scalar < 0x800) {
        *stringEnd++ = static_cast<uint8_t>(0xC0 | scalar >> 6);
        *stringEnd++ = static_cast<uint8_t>(0x80 | (scalar & 0x3F));
    } else {
        if (scalar < 0x10000) {
            *stringEnd++ = static_cast<uint8_t>(0xE0 | scalar >> 12);
        } else {
            *stringEnd++ = static_cast<uint8_t>(0xF0 | scalar >> 18);
            *stringEnd++ = static_cast<uint8_t>(0x80 | (scalar >> 12 & 0x3F));
        }
        *stringEnd++ = static_cast<uint8_t>(0x80 | (scalar >> 6 & 0x3F));
        *stringEnd++ = static_cast<uint8_t>(0x80 | (scalar & 0x3F));
    }
    return GEOMATCH_JSON_OK;
}

int geomatch_plain_json_parser::number() noexcept {
    const uint8_t *start = at;
    const bool isNegative = *at == '-';
    if (isNegative) { at++; }
    const uint8_t *digits = at;
    while (at < end && isDigit(*at)) { at++; }
    const size_t count = static_cast<size_t>(at - digits);
    if (count == 0 || (count > 1 && *digits == '0')) { return GEOMATCH_JSON_NUMBER; }
    bool isWhole = true;
    if (at < end && *at == '.') {
        isWhole = false;
        const uint8_t *fraction = ++at;
        while (at < end && isDigit(*at)) { at++; }
        if (at == fraction) { return GEOMATCH_JSON_NUMBER; }
    }
    if (at < end && (*at | 0x20) == 'e') {
        isWhole = false;
        at++;
        if (at < end && (*at == '+' || *at == '-')) { at++; }
        const uint8_t *exponent = at;
        while (at < end && isDigit(*at)) { at++; }
        if (at == exponent) { return GEOMATCH_JSON_NUMBER; }
    }
    if (at < end && !isSpace(*at) && *at != ',' && *at != '}' && *at != ']') { return GEOMATCH_JSON_NUMBER; }
    if (isWhole) {
        uint64_t value = 0;
        bool fits = true;
        for (const uint8_t *digit = digits; digit < digits + count && fits; digit++) {
            fits = !__builtin_mul_overflow(value, uint64_t(10), &value) && !__builtin_add_overflow(value, *digit - '0', &value);
        }
        const uint64_t limit = uint64_t(INT64_MAX) + (isNegative ? 1 : 0);
        if (fits && value <= limit) {
            geomatch_json_node *node = add(GEOMATCH_JSON_INTEGER);
            if (node == nullptr) { return GEOMATCH_JSON_MEMORY; }
            node->value = isNegative ? uint64_t(0) - value : value;
            return GEOMATCH_JSON_OK;
        }
    }
    double value;
    try {
        // Ended for strtod, which reads as far as it can.
        value = std::strtod(std::string(reinterpret_cast<const char *>(start), at - start).c_str(), nullptr);
    } catch (const std::bad_alloc &) {
        return GEOMATCH_JSON_MEMORY;
    }
    if (!std::isfinite(value)) { return GEOMATCH_JSON_NUMBER; }
    geomatch_json_node *node = add(GEOMATCH_JSON_DOUBLE);
    if (node == nullptr) { return GEOMATCH_JSON_MEMORY; }
    std::memcpy(&node->value, &value, sizeof value);
    return GEOMATCH_JSON_OK;
}

extern "C" geomatch_plain_json_parser *geomatch_plain_json_create(void) {
    return new (std::nothrow) geomatch_plain_json_parser();
}

extern "C" void geomatch_plain_json_destroy(geomatch_plain_json_parser *parser) {
    delete parser;
}

extern "C" int geomatch_plain_json_parse(
    geomatch_plain_json_parser *parser, const uint8_t *bytes, size_t length, const geomatch_json_node **root) {
    *root = nullptr;
    if (parser == nullptr) { return GEOMATCH_JSON_MEMORY; }
    if (length > GEOMATCH_JSON_LENGTH_MAX) { return GEOMATCH_JSON_TOO_LARGE; }
    if (bytes == nullptr || length == 0) { return GEOMATCH_JSON_EMPTY; }
    const int error = parser->parse(bytes, length);
    if (error == GEOMATCH_JSON_OK) { *root = parser->nodes; }
    return error;
}

#ifndef GEOMATCH_SYSTEM_LIBRARIES

struct geomatch_json_parser : geomatch_plain_json_parser {};

extern "C" geomatch_json_parser *geomatch_json_create(void) {
    return new (std::nothrow) geomatch_json_parser();
}

extern "C" void geomatch_json_destroy(geomatch_json_parser *parser) {
    delete parser;
}

extern "C" int geomatch_json_parse(
    geomatch_json_parser *parser, const uint8_t *bytes, size_t length, bool, const geomatch_json_node **root) {
    return geomatch_plain_json_parse(parser, bytes, length, root);
}

#endif
