import CPrefetch
import EngineMemory
import Selectors

/// The publications' properties, by the publication's number.
struct PropertyTable {
    private(set) var base: UnsafeMutablePointer<Properties>
    private var capacity = 16

    init() { base = PropertyTable.memory(nil, used: 0, capacity: 16) }

    var bytes: Int { capacity * MemoryLayout<Properties>.stride }

    mutating func initialize(_ index: UInt32, to properties: Properties) {
        if Int(index) >= capacity {
            // Moving bits moves the values: what was initialised there is simply here now.
            let next = max(Int(index) + 1, BigMemory.grown(capacity, stride: MemoryLayout<Properties>.stride))
            base = PropertyTable.memory(base, used: capacity, capacity: next)
            capacity = next
        }
        (base + Int(index)).initialize(to: properties)
    }

    /// - Parameter empty: No publication is left: the memory goes too.
    mutating func deinitialize(_ index: UInt32, empty: Bool) {
        (base + Int(index)).deinitialize(count: 1)
        guard empty && capacity > 4096 else { return }
        BigMemory.release(base)
        base = PropertyTable.memory(nil, used: 0, capacity: 16)
        capacity = 16
    }

    /// Asks for the memory behind a publication's properties, which begin with a reference. Should that ever change, a useless
    /// line is asked for and nothing else.
    @inline(__always)
    func prefetchStorage(of index: UInt32) {
        let storage = UnsafeRawPointer(base + Int(index)).load(as: UInt.self)
        guard let address = UnsafeRawPointer(bitPattern: storage) else { return }
        geomatch_prefetch(address)
        geomatch_prefetch(address + 64)
    }

    func deallocate(alive publications: Slab<Publication>) {
        for index in 0..<publications.used where publications.base[index].isAlive { (base + index).deinitialize(count: 1) }
        BigMemory.release(base)
    }

    private static func memory(
        _ old: UnsafeMutablePointer<Properties>?, used: Int, capacity: Int
    ) -> UnsafeMutablePointer<Properties> {
        let stride = MemoryLayout<Properties>.stride
        return BigMemory.resize(old, used: used * stride, bytes: capacity * stride)
            .bindMemory(to: Properties.self, capacity: capacity)
    }
}
