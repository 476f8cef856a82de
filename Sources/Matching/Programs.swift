import Selectors

/// Selectors in use, each held once: equal selectors (after normalisation) share a program, and one publication probing a
/// thousand subscriptions with fifty selectors evaluates fifty.
struct Programs {
    private struct Program: BitwiseCopyable {
        var users: UInt32
        /// The probe whose result is here.
        var probe: UInt32
        var result: Bool
        var matchesAll: Bool
        /// How many of its tests search texts.
        var searches: UInt16
        /// It is TRUE only of publications whose signature has one of these bits; all of them: of any.
        var signature: UInt32
        var selector: Unmanaged<Selector>
    }

    private var programs = Slab<Program>()
    private var numbers: [Selector: UInt32] = [:]
    /// By program: the ways to what it may be TRUE of.
    private var paths = ContiguousArray<[AccessPath]>()
    /// What the selectors in use ask about.
    private(set) var names = AccessNames()
    private var probe: UInt32 = 0

    var bytes: Int { programs.bytes + numbers.capacity * 24 + paths.capacity * 8 + names.bytes }

    func deallocate() {
        for index in numbers.values { programs[index].selector.release() }
        names.deallocate()
        programs.deallocate()
    }

    mutating func intern(_ selector: Selector) -> UInt32 {
        if let index = numbers[selector] {
            programs[index].users += 1
            return index
        }
        let index = programs.take()
        programs[index] = Program(
            users: 1, probe: 0, result: false, matchesAll: selector.matchesAll,
            searches: UInt16(clamping: selector.searches), signature: .max, selector: .passRetained(selector)
        )
        numbers[selector] = index
        let paths = selector.accessPaths()
        for path in paths { names.add(path) }
        if let path = paths.first, path.kind == .equality { programs[index].signature = path.signature }
        if Int(index) < self.paths.count { self.paths[Int(index)] = paths } else { self.paths.append(paths) }
        return index
    }

    mutating func release(_ index: UInt32) {
        programs[index].users -= 1
        guard programs[index].users == 0 else { return }
        let selector = programs[index].selector
        numbers[selector.takeUnretainedValue()] = nil
        for path in paths[Int(index)] { names.remove(path) }
        paths[Int(index)] = []
        if numbers.isEmpty {
            numbers = [:]
            paths = []
        }
        selector.release()
        programs.release(index)
    }

    func selector(_ index: UInt32) -> Selector { programs[index].selector.takeUnretainedValue() }

    @inline(__always)
    func signature(_ index: UInt32) -> UInt32 { programs[index].signature }

    func paths(_ index: UInt32) -> [AccessPath] { paths[Int(index)] }

    /// Forgets the results remembered so far: another publication is about to be looked at.
    mutating func begin() {
        probe &+= 1
        guard probe == 0 else { return }
        for index in numbers.values { programs[index].probe = 0 }
        probe = 1
    }

    @inline(__always)
    func searches(_ index: UInt32) -> Int { Int(programs[index].searches) }

    /// The same, but 0 where the result is remembered.
    @inline(__always)
    func searchesLeft(_ index: UInt32) -> Int { programs[index].probe == probe ? 0 : searches(index) }

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
