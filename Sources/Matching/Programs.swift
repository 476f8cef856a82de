import Selectors

/// Selectors in use, each held once: equal selectors (after normalisation) share a program, and one publication probing a
/// thousand subscriptions with fifty selectors evaluates fifty.
struct Programs {
    private struct Program: BitwiseCopyable {
        var users: UInt32
        /// The probe whose result stands here.
        var probe: UInt32
        var result: Bool
        var matchesAll: Bool
        var selector: Unmanaged<Selector>
    }

    private var programs = Slab<Program>()
    private var byText: [String: UInt32] = [:]
    private var probe: UInt32 = 0

    var bytes: Int { programs.bytes + byText.capacity * 40 }

    func deallocate() {
        for index in byText.values { programs[index].selector.release() }
        programs.deallocate()
    }

    mutating func intern(_ selector: Selector) -> UInt32 {
        let text = selector.normalised
        if let index = byText[text] {
            programs[index].users += 1
            return index
        }
        let index = programs.take()
        programs[index] = Program(
            users: 1, probe: 0, result: false, matchesAll: selector.matchesAll, selector: .passRetained(selector))
        byText[text] = index
        return index
    }

    mutating func release(_ index: UInt32) {
        programs[index].users -= 1
        guard programs[index].users == 0 else { return }
        let selector = programs[index].selector
        byText[selector.takeUnretainedValue().normalised] = nil
        if byText.isEmpty { byText = [:] }
        selector.release()
        programs.release(index)
    }

    func selector(_ index: UInt32) -> Selector { programs[index].selector.takeUnretainedValue() }

    /// Forgets the results remembered so far: another publication is about to be looked at.
    mutating func begin() {
        probe &+= 1
        guard probe == 0 else { return }
        for index in byText.values { programs[index].probe = 0 }
        probe = 1
    }

    /// Whether the selector is TRUE of these properties, remembered until the next ``begin()``.
    @inline(__always)
    func remembered(_ index: UInt32, _ properties: UnsafePointer<Properties>) -> Bool {
        let program = programs.base + Int(index)
        if program.pointee.matchesAll { return true }
        if program.pointee.probe == probe { return program.pointee.result }
        let result = program.pointee.selector._withUnsafeGuaranteedRef { $0.matches(properties.pointee) }
        program.pointee.probe = probe
        program.pointee.result = result
        return result
    }

    /// Whether the selector is TRUE of these properties.
    @inline(__always)
    func evaluate(_ index: UInt32, _ properties: UnsafePointer<Properties>) -> Bool {
        let program = programs.base + Int(index)
        if program.pointee.matchesAll { return true }
        return program.pointee.selector._withUnsafeGuaranteedRef { $0.matches(properties.pointee) }
    }
}
