import SeededRandom
import Testing

@testable import Selectors

@Suite("Properties")
struct PropertiesTests {
    @Test("keep values, and their order, as given")
    func roundTrip() {
        var random = SplitMix64.forTest("properties")
        let values: [PropertyValue] = [
            .boolean(true), .integer(.min), .double(-0.5), .string(""), .string("short"), .string("exactly 15 byte"),
            .string("exactly 16 bytes"), .string(String(repeating: "🙂", count: 1000)), .string("e\u{301}"), .string("\u{0}"),
            .array([]), .array([.integer(1), .string("an element of more than fifteen bytes"), .boolean(false)]),
        ]
        for count in [0, 1, 2, 7, 8, 9, 10, 17, 64, 65, 300] {
            var pairs = (0..<count).map {
                (name: "\($0 % 3 == 0 ? "a long common beginning of names " : "n")\($0)", value: random.pick(values))
            }
            pairs.shuffle(using: &random)
            let properties = Properties(pairs)
            #expect(properties.entries.map(\.name) == pairs.map(\.name))
            #expect(properties.entries.map(\.value) == pairs.map(\.value))
            for pair in pairs {
                #expect(properties[pair.name] == pair.value)
                #expect(properties[pair.name + "x"] == nil)
            }
            #expect(properties[""] == nil)
        }
    }

    @Test("take the last of equal names", arguments: [1, 40])
    func duplicates(count: Int) {
        let others = (0..<count).map { (name: "other \($0) of more than fifteen bytes", value: PropertyValue.integer(Int64($0))) }
        let pairs =
            [("a", .integer(1)), ("é", .integer(2))] + others + [("e\u{301}", .integer(3)), ("a", .string("x"))] + others
        let properties = Properties(pairs.map { (name: $0.0, value: $0.1) })
        #expect(properties.entries.count == 3 + count)
        #expect(properties["a"] == .string("x"))
        #expect(properties["é"] == .integer(2))
        #expect(properties["e\u{301}"] == .integer(3))
        #expect(properties.entries.first?.value == .integer(2))
        #expect(properties.entries.last?.value == .integer(Int64(count - 1)))
    }

    @Test("find every name among very many that begin alike")
    func alike() {
        let pairs = (0..<2000).map { (name: "temperature of room \($0)", value: PropertyValue.integer(Int64($0))) }
        let properties = Properties(pairs + (0..<2000).map { (name: "a\($0)", value: PropertyValue.integer(Int64(-$0))) })
        for index in 0..<2000 {
            #expect(properties["temperature of room \(index)"] == .integer(Int64(index)))
            #expect(properties["a\(index)"] == .integer(Int64(-index)))
        }
    }

    @Test("keep what is not finite, and find equal strings by their scalars only")
    func values() {
        let properties = Properties([("inf", .double(.infinity)), ("nan", .double(.nan))])
        #expect(properties["inf"] == .double(.infinity))
        if case .double(let value) = properties["nan"] { #expect(value.isNaN) } else { Issue.record("no double") }
        #expect(PropertyValue.string("é") != .string("e\u{301}"))
        #expect(PropertyValue.integer(1) != .double(1))
        #expect(Properties.none.entries.isEmpty)
    }

    @Test("take at most 250 bytes for three short ones")
    func size() {
        let properties = Properties([("category", .string("restaurant")), ("price", .double(9.5)), ("open", .boolean(true))])
        // The words, and 32 bytes before those of an array.
        #expect(MemoryLayout<Properties>.size + 32 + 8 * properties.words.capacity <= 250)
    }
}
