/// A compiled selector: one block of words that ``Machine`` runs.
///
/// `[begin and end of the main block] [depth of the stack, number of inner blocks]`, then long strings and patterns, the main
/// block, begin and end of each inner block, the inner blocks. Two 32-bit numbers share a word, the first in the lower half.
struct Program: Sendable {
    /// Empty for a small program.
    private let large: ContiguousArray<UInt64>
    /// A program of at most ``smallSize`` words (three plain comparisons) lies in the selector itself: one line of memory less
    /// to wait for, which is a quarter of its time among thousands of selectors. Zero for a larger one. Never written after
    /// the initialiser; a variable because only that gives its address without a copy.
    private var small: Small

    private typealias Pair = (UInt64, UInt64)
    private typealias Small = (Pair, Pair, Pair, Pair, Pair)

    static let headSize = 2
    private static let smallSize = 10

    init(words: ContiguousArray<UInt64>) {
        guard words.count <= Self.smallSize else {
            small = ((0, 0), (0, 0), (0, 0), (0, 0), (0, 0))
            large = words
            return
        }
        let all = words + repeatElement(0, count: Self.smallSize - words.count)
        small = ((all[0], all[1]), (all[2], all[3]), (all[4], all[5]), (all[6], all[7]), (all[8], all[9]))
        large = []
    }

    /// Passes always.
    static let empty = Program(words: [UInt64(headSize) | UInt64(headSize) << 32, 0])

    /// Calls `body` with the words. Changes nothing, and so may run on several threads at once.
    @inline(__always)
    mutating func withWords<Result>(_ body: (UnsafePointer<UInt64>) -> Result) -> Result {
        withUnsafeMutablePointer(to: &small) { [large] small in
            UnsafePointer(small).withMemoryRebound(to: UInt64.self, capacity: Self.smallSize) { small in
                large.withUnsafeBufferPointer { large in
                    // The first word of a program, the place of its main block, is never zero.
                    body(small[0] != 0 ? small : large.baseAddress ?? small)
                }
            }
        }
    }
}

/// The instructions. A test says something of the accumulator, and jumps or goes on.
///
/// An instruction is a header, the name of a property to load into the accumulator first (where the header says so), and what is
/// said below. A list is a count and as many data.
enum Opcode: UInt8 {
    /// A word: an integer to compare with.
    case compareInteger
    /// A word: the only one of a short string, compared by `=` or `<>`; the header has its number of bytes.
    case compareWord
    /// The boolean in the header, compared by `=` or `<>`.
    case compareBoolean
    /// The accumulator as a condition.
    case truth
    case isMissing
    /// Four words: two numbers between which the accumulator is.
    case betweenConstants
    /// Two words: a datum to compare with.
    case compareDatum
    /// False whatever is known: ordering against a string or a boolean.
    case never
    /// A word: the index of a list, sorted by the words of its data.
    case membership
    /// A word: the index of a pattern.
    case like
    /// Two words: the datum to compare with ANY or ALL of the accumulator.
    case quantifiedConstant
    /// A word: the index of the list that the accumulator is compared with by ANY or ALL.
    case quantifiedList

    // What follows is found only in programs with a stack, if only one of depth 1 that they do not use.

    /// Compares the top of the stack with the accumulator.
    case compareStack
    /// The tested value and the lower bound are on the stack, the upper bound is in the accumulator.
    case between
    /// The top of the stack with ANY or ALL of the accumulator.
    case quantifiedStack

    // What follows is no test.

    /// Nothing but to load the property.
    case load
    /// Two words: the datum to load.
    case constant
    /// A word: the index of the inner block whose truth is loaded.
    case block
    /// Puts the accumulator on the stack.
    case push
    /// The top of the stack, `detail` (an arithmetic operator), the accumulator.
    case combine
    /// The accumulator, `detail` (an arithmetic operator), the datum of two words.
    case combineConstant
    /// Applies a sign; `detail` is 1 for minus.
    case sign
}

/// The header of an instruction.
///
/// Bits 0–7 opcode, 8–15 detail, 16 has a name, 17 jumps when it passes (else when it does not), 18–19 which of false and true
/// passes, 20–23 number of bytes of a name of one word or ``longName``, 24–27 the same of a string or a boolean, 28–31 number
/// of words after the name, 32–63 the word to jump to, counted from the start of the block.
struct Instruction {
    var word: UInt64

    /// In `detail` of a quantified comparison: ALL rather than ANY, beside the comparison.
    static let universalBit: UInt8 = 0x80
    /// The target that ends a block without passing; real targets lie further on than the first instruction.
    static let reject = 0
    /// The name takes two words.
    static let longName: UInt64 = 15
    /// The largest number of bytes of a string that takes one word.
    static let wordCapacity: UInt64 = 8

    init(_ opcode: Opcode, detail: UInt8 = 0, payloadCount: Int = 0) {
        word = UInt64(opcode.rawValue) | UInt64(detail) << 8 | UInt64(payloadCount) << 28
    }

    @inline(__always)
    init(word: UInt64) {
        self.word = word
    }

    @inline(__always)
    var opcode: Opcode {
        // Only the builder makes instructions, from an opcode.
        unsafeBitCast(UInt8(truncatingIfNeeded: word), to: Opcode.self)
    }
    @inline(__always)
    var detail: UInt8 { UInt8(truncatingIfNeeded: word >> 8) }
    @inline(__always)
    var comparison: UInt64 { word >> 8 & 0b111 }
    @inline(__always)
    var hasName: Bool { word & (1 << 16) != 0 }
    @inline(__always)
    var jumpWhen: UInt64 { word >> 17 & 1 }
    @inline(__always)
    var passing: UInt64 { word >> 18 & 0b11 }
    @inline(__always)
    var nameLength: UInt64 { word >> 20 & 0xF }
    @inline(__always)
    var operandLength: UInt64 { word >> 24 & 0xF }
    @inline(__always)
    var payloadCount: Int { Int(truncatingIfNeeded: word >> 28 & 0xF) }
    @inline(__always)
    var target: Int { Int(truncatingIfNeeded: word >> 32) }

    mutating func setName(length: UInt64) {
        word |= 1 << 16 | length << 20
    }

    mutating func setOperand(length: UInt64) {
        word |= length << 24
    }

    mutating func setTest(passesWhen wanted: Bool, jumpWhen: Bool) {
        word |= (wanted ? 0b10 : 0b01) << 18 | (jumpWhen ? 1 << 17 : 0)
    }

    mutating func setTarget(_ target: Int) {
        word |= UInt64(truncatingIfNeeded: target) << 32
    }
}
