extension Program {
    /// Whether the selector is TRUE for the properties.
    @inline(__always)
    mutating func passes(_ properties: Properties) -> Bool {
        withBases(properties) { program, properties in
            var met: Machine.Truth = 0
            if program[1] == 0 {
                return Self.machine(program, properties)
                    .passes(program[0], unknownPasses: false, usesStack: false, &met)
            }
            return Self.withStack(program, properties) { machine in
                var met: Machine.Truth = 0
                return machine.passes(program[0], unknownPasses: false, usesStack: true, &met)
            }
        }
    }

    mutating func truth(_ properties: Properties) -> Machine.Truth {
        withBases(properties) { program, properties in
            if program[1] == 0 {
                return Self.machine(program, properties).truth(ofBlock: program[0], usesStack: false)
            }
            return Self.withStack(program, properties) { $0.truth(ofBlock: program[0], usesStack: true) }
        }
    }

    @inline(__always)
    private mutating func withBases<Result>(
        _ properties: Properties, _ body: (UnsafePointer<UInt64>, UnsafePointer<UInt64>) -> Result
    ) -> Result {
        withWords { program in
            properties.words.withUnsafeBufferPointer { properties in
                // Never empty: the first word is the number of properties.
                body(program, properties.baseAddress.unsafelyUnwrapped)
            }
        }
    }

    /// A machine for a program without stack and inner blocks, which never looks at these two.
    @inline(__always)
    private static func machine(_ program: UnsafePointer<UInt64>, _ properties: UnsafePointer<UInt64>) -> Machine {
        let nowhere = UnsafeMutableRawPointer(mutating: program)
        return Machine(
            program: program, properties: properties, stack: nowhere.assumingMemoryBound(to: Datum.self),
            truths: nowhere.assumingMemoryBound(to: Machine.Truth.self))
    }

    /// Runs the inner blocks, each after those it uses, and then the body.
    @inline(never)
    private static func withStack<Result>(
        _ program: UnsafePointer<UInt64>, _ properties: UnsafePointer<UInt64>, _ body: (Machine) -> Result
    ) -> Result {
        let depth = Int(truncatingIfNeeded: program[1] & 0xFFFF_FFFF)
        let blockCount = Int(truncatingIfNeeded: program[1] >> 32)
        return withUnsafeTemporaryAllocation(of: Datum.self, capacity: depth + 1) { stack in
            withUnsafeTemporaryAllocation(of: Machine.Truth.self, capacity: blockCount + 1) { truths in
                let machine = Machine(
                    program: program, properties: properties, stack: stack.baseAddress.unsafelyUnwrapped,
                    truths: truths.baseAddress.unsafelyUnwrapped)
                let table = program + Int(truncatingIfNeeded: program[0] >> 32)
                for index in 0..<blockCount {
                    truths.initializeElement(at: index, to: machine.truth(ofBlock: table[index], usesStack: true))
                }
                return body(machine)
            }
        }
    }
}
