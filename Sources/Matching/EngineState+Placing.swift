import Geodesy

// Lanes: where an entry's coordinates lie, in its topic's line or in a cell of the grid.
extension EngineState {
    /// Gives an entry a lane at its device's position.
    mutating func place(_ side: Side, _ index: UInt32) {
        if side == .subscription { countIn(entry(side, index).pointee.topic) }
        admit(side, index)
    }

    /// Takes an entry's lane away.
    mutating func unplace(_ side: Side, _ index: UInt32) {
        withdraw(side, index)
        if side == .subscription { countOut(entry(side, index).pointee.topic) }
    }

    /// Gives an entry a lane in the group it belongs to.
    mutating func admit(_ side: Side, _ index: UInt32) {
        let group = chooseGroup(side, index)
        entry(side, index).pointee.group = group
        let holder = holder(group)
        holder.pointee.count += 1
        if holder.pointee.levels == nil && holder.pointee.count >= Topics.gridFrom && Topics.canHaveGrid(group) {
            raiseGrid(side, holder)
        }
        insert(side, index, holder)
        if holder.pointee.levels != nil { balance(side, group, entry(side, index).pointee.level) }
    }

    /// Takes an entry's lane out of its group.
    mutating func withdraw(_ side: Side, _ index: UInt32) {
        let group = entry(side, index).pointee.group
        let holder = holder(group)
        holder.pointee.count -= 1
        extract(side, index, holder)
        if holder.pointee.levels != nil && holder.pointee.count < Topics.lineBelow { razeGrid(side, holder) }
        closeGroupIfEmpty(group)
    }

    /// Moves a placed entry's lane to its device's new position.
    @inline(__always)
    mutating func shift(_ side: Side, _ index: UInt32, to device: UnsafeMutablePointer<Device>) {
        let entry = entry(side, index)
        if entry.pointee.tile == none {
            lanes.write(entry.pointee.lane, point: device.pointee.point)
            return
        }
        let (key, cell) = Grid.place(
            side: Topics.key(entry.pointee.group), level: entry.pointee.level, fineness: entry.pointee.fineness,
            latitude: device.pointee.latitude, longitude: device.pointee.longitude)
        if cell == Int(entry.pointee.cell) && directory.tiles[entry.pointee.tile].key == key {
            lanes.write(entry.pointee.lane, point: device.pointee.point)
            return
        }
        takeFromCell(side, index)
        putIntoCell(side, index, key: key, cell: cell)
        balance(side, entry.pointee.group, entry.pointee.level)
    }

    private mutating func insert(_ side: Side, _ index: UInt32, _ holder: UnsafeMutablePointer<TopicSide>) {
        let entry = entry(side, index)
        let device = devices[entry.pointee.device]
        if let levels = holder.pointee.levels {
            let level = Grid.level(of: entry.pointee.range)
            levels[level].count += 1
            levels[level].longestRange = max(levels[level].longestRange, entry.pointee.range)
            levels[level].shortestRange = min(levels[level].shortestRange, entry.pointee.range)
            holder.pointee.levelsInUse |= 1 << UInt32(level)
            setGrain(side, index, levels, level)
            let (key, cell) = Grid.place(
                side: Topics.key(entry.pointee.group), level: level, fineness: entry.pointee.fineness,
                latitude: device.latitude, longitude: device.longitude)
            putIntoCell(side, index, key: key, cell: cell)
        } else {
            entry.pointee.tile = none
            append(side, index, to: &holder.pointee.line)
        }
    }

    private mutating func extract(_ side: Side, _ index: UInt32, _ holder: UnsafeMutablePointer<TopicSide>) {
        let entry = entry(side, index)
        if let levels = holder.pointee.levels {
            let level = entry.pointee.level
            takeFromCell(side, index)
            levels[level].count -= 1
            if levels[level].count == 0 {
                levels[level] = LevelUse()
                holder.pointee.levelsInUse &= ~(1 << UInt32(level))
            }
        } else {
            remove(side, index, from: &holder.pointee.line)
        }
    }

    mutating func putIntoCell(_ side: Side, _ index: UInt32, key: UInt64, cell: Int) {
        let entry = entry(side, index)
        let holder = holder(entry.pointee.group)
        let tile = directory.open(key, cell: cell, of: holder)
        entry.pointee.tile = tile
        entry.pointee.cell = UInt8(cell)
        let record = directory.tiles[tile]
        let run = record.runs + record.rank(of: cell)
        if let levels = holder.pointee.levels { levels[entry.pointee.level].squares += UInt64(2 * run.pointee.count + 1) }
        append(side, index, to: &run.pointee)
    }

    mutating func takeFromCell(_ side: Side, _ index: UInt32) {
        let entry = entry(side, index)
        let cell = Int(entry.pointee.cell)
        let tile = entry.pointee.tile
        let record = directory.tiles[tile]
        let run = record.runs + record.rank(of: cell)
        let holder = holder(entry.pointee.group)
        if let levels = holder.pointee.levels { levels[entry.pointee.level].squares -= UInt64(2 * run.pointee.count - 1) }
        remove(side, index, from: &run.pointee)
        if run.pointee.count == 0 { directory.close(tile, cell: cell, of: holder) }
    }

    private mutating func append(_ side: Side, _ index: UInt32, to run: inout Run) {
        bumpVersion(side)
        let entry = entry(side, index)
        let (lane, relocated) = lanes.append(
            to: &run, point: devices[entry.pointee.device].point, range: entry.pointee.range, owner: index)
        if relocated { rename(side, run) }
        entry.pointee.lane = lane
    }

    private mutating func remove(_ side: Side, _ index: UInt32, from run: inout Run) {
        bumpVersion(side)
        let entry = entry(side, index)
        let lane = entry.pointee.lane
        let (moved, relocated) = lanes.remove(lane, from: &run)
        entry.pointee.lane = none
        if relocated { rename(side, run) } else if let moved { self.entry(side, moved).pointee.lane = lane }
    }

    /// Gives every entry of a run its lane's new name.
    private func rename(_ side: Side, _ run: Run) {
        let first = run.block * 8
        for place in 0..<UInt32(run.count) {
            entry(side, lanes.owners[Int(first + place)]).pointee.lane = first + place
        }
    }

    private mutating func raiseGrid(_ side: Side, _ holder: UnsafeMutablePointer<TopicSide>) {
        let owners = owners(of: holder.pointee.line)
        for owner in owners { remove(side, owner, from: &holder.pointee.line) }
        let levels = UnsafeMutablePointer<LevelUse>.allocate(capacity: Grid.levels)
        levels.initialize(repeating: LevelUse(), count: Grid.levels)
        holder.pointee.levels = levels
        for owner in owners { insert(side, owner, holder) }
    }

    private mutating func razeGrid(_ side: Side, _ holder: UnsafeMutablePointer<TopicSide>) {
        let owners = owners(of: holder)
        for owner in owners { extract(side, owner, holder) }
        holder.pointee.levels?.deallocate()
        holder.pointee.levels = nil
        holder.pointee.levelsInUse = 0
        for owner in owners { insert(side, owner, holder) }
    }

    /// The entries of a group, in no order a caller could know.
    func owners(of holder: UnsafeMutablePointer<TopicSide>) -> [UInt32] {
        guard holder.pointee.levels != nil else { return owners(of: holder.pointee.line) }
        var owners: [UInt32] = []
        var tile = holder.pointee.firstTile
        while tile != none {
            let record = directory.tiles[tile]
            tile = record.next
            for rank in 0..<record.occupied.nonzeroBitCount { owners += self.owners(of: record.runs[rank]) }
        }
        return owners
    }

    private func owners(of run: Run) -> [UInt32] {
        Array(UnsafeBufferPointer(start: lanes.owners + Int(run.block) * 8, count: run.count))
    }
}
