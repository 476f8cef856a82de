#include "CSimdJSON.h"

#ifdef GEOMATCH_SYSTEM_LIBRARIES

#include <cstdlib>
#include <cstring>
#include <new>

#include <simdjson.h>

namespace {

/// A payload above this leaves buffers of several times its size behind; the next small one frees them.
constexpr size_t keptCapacityMax = 128 * 1024;
constexpr size_t capacityMin = 4096;
/// Below this many digits every integer fits 64 bits.
constexpr size_t longIntegerDigits = 19;

int code(simdjson::error_code error) noexcept {
    switch (error) {
    case simdjson::SUCCESS: return GEOMATCH_JSON_OK;
    case simdjson::CAPACITY: return GEOMATCH_JSON_TOO_LARGE;
    case simdjson::DEPTH_ERROR: return GEOMATCH_JSON_TOO_DEEP;
    case simdjson::UTF8_ERROR: return GEOMATCH_JSON_NOT_UTF8;
    case simdjson::NUMBER_ERROR: return GEOMATCH_JSON_NUMBER;
    case simdjson::STRING_ERROR:
    case simdjson::UNESCAPED_CHARS:
    case simdjson::UNCLOSED_STRING: return GEOMATCH_JSON_STRING_LITERAL;
    case simdjson::EMPTY: return GEOMATCH_JSON_EMPTY;
    case simdjson::MEMALLOC: return GEOMATCH_JSON_MEMORY;
    default: return GEOMATCH_JSON_SYNTAX;
    }
}

/// Copies `bytes` to `out`, marking each integer of 19 digits or more as a double with `e0`: simdjson refuses
/// integers beyond 64 bits, JSON does not. Returns the length written.
size_t markLongIntegers(const uint8_t *bytes, size_t length, uint8_t *out) noexcept {
    size_t written = 0;
    bool inString = false;
    for (size_t at = 0; at < length;) {
        const uint8_t byte = bytes[at];
        const bool digit = byte >= '0' && byte <= '9';
        if (inString || !digit) {
            if (inString && byte == '\\' && at + 1 < length) {
                out[written++] = bytes[at++];
            } else if (byte == '"') {
                inString = !inString;
            }
            out[written++] = bytes[at++];
            continue;
        }
        size_t digits = 0;
        bool whole = true;
        for (; at < length; at++) {
            const uint8_t next = bytes[at];
            if (next >= '0' && next <= '9') {
                digits++;
            } else if (next == '.' || next == 'e' || next == 'E' || next == '+' || next == '-') {
                whole = false;
            } else {
                break;
            }
            out[written++] = next;
        }
        if (whole && digits >= longIntegerDigits) {
            out[written++] = 'e';
            out[written++] = '0';
        }
    }
    return written;
}

}  // namespace

struct geomatch_json_parser {
    simdjson::dom::parser dom;
    geomatch_json_node *nodes = nullptr;
    size_t nodeCapacity = 0;
    size_t capacity = 0;

    ~geomatch_json_parser() {
        std::free(nodes);
    }

    int prepare(size_t length) noexcept;
    int parseMarked(const uint8_t *bytes, size_t length) noexcept;
    int flatten() noexcept;
    bool reserve(size_t count) noexcept;
};

/// Makes room for a payload of `length` bytes, in steps that double so that a warm parser allocates nothing, and
/// frees what an oversized one left behind.
int geomatch_json_parser::prepare(size_t length) noexcept {
    if (capacity > keptCapacityMax && length <= keptCapacityMax) {
        dom = simdjson::dom::parser();
        std::free(nodes);
        nodes = nullptr;
        nodeCapacity = 0;
        capacity = 0;
    }
    if (length <= capacity) { return GEOMATCH_JSON_OK; }
    size_t wanted = capacityMin;
    while (wanted < length) { wanted *= 2; }
    capacity = 0;
    if (const int error = code(dom.allocate(wanted, GEOMATCH_JSON_DEPTH_MAX))) { return error; }
    if (const int error = code(dom.doc.allocate(wanted))) { return error; }
    capacity = wanted;
    return GEOMATCH_JSON_OK;
}

int geomatch_json_parser::parseMarked(const uint8_t *bytes, size_t length) noexcept {
    const size_t room = length + 2 * (length / longIntegerDigits + 1) + GEOMATCH_JSON_PADDING;
    auto *copy = static_cast<uint8_t *>(std::malloc(room));
    if (copy == nullptr) { return GEOMATCH_JSON_MEMORY; }
    const size_t copyLength = markLongIntegers(bytes, length, copy);
    std::memset(copy + copyLength, 0, GEOMATCH_JSON_PADDING);
    int error = prepare(copyLength);
    if (error == GEOMATCH_JSON_OK) { error = code(dom.parse(copy, copyLength, false).error()); }
    // Strings were copied to simdjson's own buffer: nothing points here.
    std::free(copy);
    return error;
}

bool geomatch_json_parser::reserve(size_t count) noexcept {
    if (count <= nodeCapacity) { return true; }
    void *grown = std::realloc(nodes, count * sizeof(geomatch_json_node));
    if (grown == nullptr) { return false; }
    nodes = static_cast<geomatch_json_node *>(grown);
    nodeCapacity = count;
    return true;
}

/// Turns simdjson's tape into nodes in one pass. The tape format is part of simdjson's documentation
/// (doc/tape.md): a type in the high 8 bits of each 64-bit word, a payload in the low 56.
int geomatch_json_parser::flatten() noexcept {
    constexpr uint64_t payloadMask = 0x00FFFFFFFFFFFFFF;
    const uint64_t *tape = dom.doc.tape.get();
    const uint8_t *strings = dom.doc.string_buf.get();
    const size_t end = tape[0] & payloadMask;
    if (!reserve(end)) { return GEOMATCH_JSON_MEMORY; }
    uint32_t open[GEOMATCH_JSON_DEPTH_MAX + 1];
    size_t depth = 0;
    uint32_t written = 0;
    for (size_t at = 1; at + 1 < end; at++) {
        const uint64_t word = tape[at];
        const uint64_t payload = word & payloadMask;
        geomatch_json_node &node = nodes[written];
        node.count = 0;
        switch (static_cast<char>(word >> 56)) {
        case '{':
        case '[':
            if (depth > GEOMATCH_JSON_DEPTH_MAX) { return GEOMATCH_JSON_TOO_DEEP; }
            node.kind = (word >> 56) == '{' ? GEOMATCH_JSON_OBJECT : GEOMATCH_JSON_ARRAY;
            // The count saturates at 2^24 - 1, more elements than the longest payload can hold.
            node.count = static_cast<uint32_t>(payload >> 32);
            open[depth++] = written++;
            break;
        case '}':
        case ']': {
            if (depth == 0) { return GEOMATCH_JSON_SYNTAX; }
            const uint32_t opened = open[--depth];
            nodes[opened].value = written - opened;
            break;
        }
        case '"': {
            uint32_t length;
            std::memcpy(&length, strings + payload, sizeof length);
            node.kind = GEOMATCH_JSON_STRING;
            node.count = length;
            node.value = reinterpret_cast<uintptr_t>(strings + payload + sizeof length);
            written++;
            break;
        }
        case 'l':
            node.kind = GEOMATCH_JSON_INTEGER;
            node.value = tape[++at];
            written++;
            break;
        case 'u': {
            const double value = static_cast<double>(tape[++at]);
            node.kind = GEOMATCH_JSON_DOUBLE;
            std::memcpy(&node.value, &value, sizeof value);
            written++;
            break;
        }
        case 'd':
            node.kind = GEOMATCH_JSON_DOUBLE;
            node.value = tape[++at];
            written++;
            break;
        case 't':
        case 'f':
            node.kind = GEOMATCH_JSON_BOOL;
            node.value = (word >> 56) == 't';
            written++;
            break;
        case 'n':
            node.kind = GEOMATCH_JSON_NULL;
            node.value = 0;
            written++;
            break;
        default:
            return GEOMATCH_JSON_SYNTAX;
        }
    }
    return depth == 0 && written > 0 ? GEOMATCH_JSON_OK : GEOMATCH_JSON_SYNTAX;
}

extern "C" geomatch_json_parser *geomatch_json_create(void) {
    return new (std::nothrow) geomatch_json_parser();
}

extern "C" void geomatch_json_destroy(geomatch_json_parser *parser) {
    delete parser;
}

extern "C" int geomatch_json_parse(
    geomatch_json_parser *parser, const uint8_t *bytes, size_t length, bool padded,
    const geomatch_json_node **root) {
    static_assert(simdjson::SIMDJSON_PADDING <= GEOMATCH_JSON_PADDING, "the promise of `padded` must suffice");
    *root = nullptr;
    if (parser == nullptr) { return GEOMATCH_JSON_MEMORY; }
    if (length > GEOMATCH_JSON_LENGTH_MAX) { return GEOMATCH_JSON_TOO_LARGE; }
    if (bytes == nullptr || length == 0) { return GEOMATCH_JSON_EMPTY; }
    int error = parser->prepare(length);
    if (error != GEOMATCH_JSON_OK) { return error; }
    error = code(parser->dom.parse(bytes, length, !padded).error());
    if (error == GEOMATCH_JSON_NUMBER) { error = parser->parseMarked(bytes, length); }
    if (error != GEOMATCH_JSON_OK) { return error; }
    error = parser->flatten();
    if (error == GEOMATCH_JSON_OK) { *root = parser->nodes; }
    return error;
}

#endif
