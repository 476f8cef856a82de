import Geodesy

// Cells as fine as the crowd in them asks for.
//
// A probe of a difference looks only at the cells its circle's edge crosses, see `Ring`. Where a cell of the usual size holds
// scores of lanes, most of what it looks at then is lanes nowhere near the edge: finer cells leave them out. A cell with a lane or
// two costs as much memory, and as much looking, as one with eight: where lanes are few, coarser cells put them together.
extension EngineState {
    /// What a lane finds in its cell on average, itself included, above which cells are halved and below which they are doubled.
    /// Halving leaves about a quarter and doubling makes it four times as many, so the two never follow each other.
    private static let crowded: UInt64 = 24
    private static let lonely: UInt64 = 5
    private static let fewest: (toHalve: UInt32, toDouble: UInt32) = (128, 32)

    func setGrain(_ side: Side, _ index: UInt32, _ levels: UnsafeMutablePointer<LevelUse>, _ level: Int) {
        let fineness = levels[level].fineness(ofLevel: level)
        entry(side, index).pointee.grain = UInt8(truncatingIfNeeded: fineness << 4 | level)
    }

    /// Makes the cells of a level finer or coarser where that is due. Takes time for each of its lanes, and comes with each
    /// fourfold growth of the crowd.
    @inline(__always)
    mutating func balance(_ side: Side, _ group: UInt32, _ level: Int) {
        let holder = holder(group)
        guard let levels = holder.pointee.levels else { return }
        let use = levels[level]
        let count = UInt64(use.count)
        if use.squares > count * EngineState.crowded {
            guard use.count >= EngineState.fewest.toHalve, use.refinement < Grid.mostRefined,
                use.fineness(ofLevel: level) < Grid.levels - 1
            else { return }
            refine(side, holder, level, to: use.refinement + 1)
        } else if use.squares < count * EngineState.lonely {
            guard use.count >= EngineState.fewest.toDouble, use.refinement > -Grid.mostRefined, use.fineness(ofLevel: level) > 0
            else {
                return
            }
            refine(side, holder, level, to: use.refinement - 1)
        }
    }

    @inline(never)
    private mutating func refine(_ side: Side, _ holder: UnsafeMutablePointer<TopicSide>, _ level: Int, to refinement: Int32) {
        guard let levels = holder.pointee.levels else { return }
        let owners = owners(of: holder).filter { entry(side, $0).pointee.level == level }
        for owner in owners { takeFromCell(side, owner) }
        levels[level].refinement = refinement
        for owner in owners {
            setGrain(side, owner, levels, level)
            let entry = entry(side, owner)
            let device = devices[entry.pointee.device]
            let (key, cell) = Grid.place(
                side: Topics.key(entry.pointee.group), level: level, fineness: entry.pointee.fineness,
                latitude: device.latitude, longitude: device.longitude)
            putIntoCell(side, owner, key: key, cell: cell)
        }
    }
}
