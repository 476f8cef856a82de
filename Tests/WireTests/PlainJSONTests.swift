import CSimdJSON
import SeededRandom
import Testing

@Suite("JSON without simdjson")
struct PlainJSONTests {
    /// What a parser made of a text: its nodes, with texts as they are.
    private struct Reading: Equatable {
        struct Node: Equatable {
            var kind: UInt32
            var count: UInt32
            var value: UInt64
            var text: [UInt8]
        }
        var code: Int32
        var nodes: [Node] = []

        init(_ code: Int32, _ root: UnsafePointer<geomatch_json_node>?) {
            self.code = code
            guard code == 0, let root else { return }
            let isContainer = root[0].kind >= UInt32(GEOMATCH_JSON_ARRAY)
            nodes = (0..<(isContainer ? Int(root[0].value) : 1)).map { index in
                let node = root[index]
                guard node.kind == UInt32(GEOMATCH_JSON_STRING) else {
                    return Node(kind: node.kind, count: node.count, value: node.value, text: [])
                }
                let bytes = UnsafePointer<UInt8>(bitPattern: UInt(node.value))
                return Node(
                    kind: node.kind, count: node.count, value: 0,
                    text: Array(UnsafeBufferPointer(start: bytes, count: Int(node.count))))
            }
        }
    }

    /// Both parsers, used again and again.
    private final class Parsers {
        private let usual = geomatch_json_create()
        private let plain = geomatch_plain_json_create()

        deinit {
            geomatch_json_destroy(usual)
            geomatch_plain_json_destroy(plain)
        }

        func read(_ bytes: [UInt8]) -> (usual: Reading, plain: Reading) {
            var root: UnsafePointer<geomatch_json_node>?
            let usualCode = geomatch_json_parse(usual, bytes, bytes.count, false, &root)
            let first = Reading(usualCode, root)
            let plainCode = geomatch_plain_json_parse(plain, bytes, bytes.count, &root)
            return (first, Reading(plainCode, root))
        }
    }

    private static let scalars = [
        "null", "true", "false", "0", "-0", "-17", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1e3",
        "-2.5E-3", "0.1", "\"\"", #""a\n\u00e9\ud83e\udd8a\/\\\"""#, "\"é🏠\"", "\"key\"",
    ]

    private static func value(_ depth: Int, _ random: inout SplitMix64) -> String {
        let space = ["", " ", "\n\t"].randomElement(using: &random) ?? ""
        let count = depth == 0 ? 0 : Int.random(in: 0...3, using: &random)
        let children = (0..<count).map { _ in value(depth - 1, &random) }
        switch depth == 0 ? 0 : Int.random(in: 0...2, using: &random) {
        case 1: return "[" + space + children.joined(separator: "," + space) + "]" + space
        case 2: return "{" + children.enumerated().map { "\"k\($0)\":\(space)\($1)" }.joined(separator: ",") + space + "}"
        default: return scalars.randomElement(using: &random) ?? "0"
        }
    }

    @Test("Both parsers read the same of what is JSON, and both refuse what is none")
    func same() {
        let parsers = Parsers()
        var random = SplitMix64.forTest()
        for _ in 0..<3000 {
            var bytes = Array(Self.value(4, &random).utf8)
            // Half of them are broken somewhere.
            if Bool.random(using: &random), !bytes.isEmpty {
                let place = Int.random(in: bytes.indices, using: &random)
                let byte = Array("{}[],:\"\\0e.-x \u{1}".utf8).randomElement(using: &random) ?? 0
                if Bool.random(using: &random) { bytes[place] = byte } else { bytes.insert(byte, at: place) }
            }
            let (usual, plain) = parsers.read(bytes)
            #expect((usual.code == 0) == (plain.code == 0), "\(String(decoding: bytes, as: UTF8.self))")
            #expect(usual.nodes == plain.nodes, "\(String(decoding: bytes, as: UTF8.self))")
        }
    }

    @Test(
        "Both say the same of what is wrong",
        arguments: [
            "", " ", "[", "{\"a\"}", "[1,]", "tru", "1 1", "01", "1.", "-", "[1e999]", "\"a", "\"\u{1}\"", "\"\\x\"",
            "\"\\ud800\"",
            "\u{FEFF}1", String(repeating: "[", count: 63) + "1" + String(repeating: "]", count: 63),
            String(repeating: "[", count: 64) + "1" + String(repeating: "]", count: 64),
        ])
    func errors(_ text: String) {
        let (usual, plain) = Parsers().read(Array(text.utf8))
        #expect(usual == plain)
    }

    @Test("Bytes that are no UTF-8 are refused, wherever they are")
    func notUTF8() {
        let parsers = Parsers()
        for wrong: [UInt8] in [
            [0xFF], [0xC3], [0xC0, 0x80], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF0, 0x80, 0x80, 0x80],
            [0xF4, 0x90, 0x80, 0x80], [0x80],
        ] {
            for bytes in [[0x22] + wrong + [0x22], Array("[1] ".utf8) + wrong] {
                let (usual, plain) = parsers.read(bytes)
                #expect(usual.code == GEOMATCH_JSON_NOT_UTF8 && plain.code == usual.code, "\(bytes)")
            }
        }
    }
}
