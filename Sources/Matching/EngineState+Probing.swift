import CPrefetch
import Geodesy

// Probing: which lanes of the other side an entry has come into range of.
extension EngineState {
    /// Appends the runs that hold every lane an entry may have come into range of at a point, and says how many.
    ///
    /// - Parameter former: Where it was before: what was in range there need not be found. nil: all that is in range is.
    mutating func gather(
        _ side: Side, _ index: UInt32, latitude: Double, longitude: Double, point: GridPoint, from former: GridPoint?
    ) -> Int {
        let entry = entry(side, index)
        let position = Position(latitude: latitude, longitude: longitude)
        return gather(
            side, index, in: entry.pointee.topic, Place(position, point, range: entry.pointee.range, from: former))
    }

    /// The same in a topic that need not be the entry's own.
    mutating func gather(_ side: Side, _ index: UInt32, in topic: UInt32, _ place: Place) -> Int {
        cells.truncate(to: 0)
        let count = choose(side, index, in: topic, place)
        openCells(withOwners: place.travelled == .infinity)
        return count
    }

    /// Appends the runs of the chosen cells, and asks for the lines of the first.
    mutating func openCells(withOwners: Bool) {
        let first = runs.count
        for cell in 0..<cells.count { runs.append(cells[cell].pointee) }
        for run in first..<min(first + ProbePrefetch.runsAhead, runs.count) { prefetch(runs[run], withOwners: withOwners) }
    }

    /// Appends the cells whose runs a probe is to look at, and says how many. They stay what they are until a lane is added or
    /// removed.
    mutating func choose(_ side: Side, _ index: UInt32, in topic: UInt32, _ place: Place) -> Int {
        let start = cells.count
        gather(Topics.group(topic, side.opposite), place)
        // Without names no subscription is in a class, and the properties need not be looked at.
        if side == .publication && topics.topic(topic).pointee.isClassified && !programs.names.isEmpty {
            findClasses(index, topic)
            for number in 0..<openClasses.count { gather(openClasses[number] | LaneClasses.mark, place) }
        }
        return cells.count - start
    }

    /// Where a probe looks from, and how far.
    struct Place {
        var latitude, longitude: Double
        var point: GridPoint
        /// The entry's range in grid units, with what it is widened by.
        var range: Int32
        /// Metres from where it was before; infinite: from nowhere.
        var travelled = Double.infinity
        /// Metres. Where the window would hold more tiles than there are entries, all of them are looked at.
        var widening = 0.0

        /// - Parameter former: Where it was before; nil: nowhere.
        @inline(__always)
        init(_ position: Position, _ point: GridPoint, range: Int32, from former: GridPoint?) {
            latitude = position.latitude
            longitude = position.longitude
            self.point = point
            self.range = range
            if let former { travelled = former.squaredChord(to: point).squareRoot() / GridPoint.unitsPerMetre }
        }

        init(latitude: Double, longitude: Double, point: GridPoint, range: Int32, widening: Double) {
            self.latitude = latitude
            self.longitude = longitude
            self.point = point
            self.range = range
            self.widening = widening
        }
    }

    private mutating func gather(_ group: UInt32, _ place: Place) {
        let holder = holder(group)
        guard holder.pointee.count > 0 else { return }
        guard let levels = holder.pointee.levels else {
            cells.append(TopicSide.line(of: holder))
            return
        }
        // Tiles of the finest level are at least 324 m wide.
        let across = 2 * place.widening / 324
        if place.widening > 0 && across * across > Double(holder.pointee.count) { return gatherAll(holder) }
        let point = place.point
        let px = Double(point.x)
        let py = Double(point.y)
        let axis = (px * px + py * py).squareRoot() / GridPoint.unitsPerMetre
        var left = holder.pointee.levelsInUse
        while left != 0 {
            let level = left.trailingZeroBitCount
            left &= left &- 1
            let reach = Double(place.range &+ levels[level].longestRange) / GridPoint.unitsPerMetre
            let window = Window(latitude: place.latitude, longitude: place.longitude, axis: axis, reach: reach)
            let fineness = levels[level].fineness(ofLevel: level)
            gather(window, ring(place, axis, reach, levels[level]), level, fineness, Topics.key(group))
        }
    }

    /// What to look at of a level whose cells hold so many lanes that leaving cells out is worth the reckoning; nil: all in reach.
    private func ring(_ place: Place, _ axis: Double, _ reach: Double, _ use: LevelUse) -> Ring? {
        guard use.squares >= 4 * UInt64(use.count) else { return nil }
        let sure = Double(place.range &+ use.shortestRange) / GridPoint.unitsPerMetre - place.travelled
        return Ring(latitude: place.latitude, longitude: place.longitude, axis: axis, reach: reach, inside: sure)
    }

    private mutating func gatherAll(_ holder: UnsafeMutablePointer<TopicSide>) {
        var tile = holder.pointee.firstTile
        while tile != none {
            let record = directory.tiles[tile]
            for rank in 0..<record.occupied.nonzeroBitCount { cells.append(record.runs + rank) }
            tile = record.next
        }
    }

    private mutating func gather(_ window: Window, _ ring: Ring?, _ level: Int, _ fineness: Int, _ key: UInt32) {
        let south = Grid.row(window.south, fineness)
        let north = Grid.row(window.north, fineness)
        for tileRow in (south >> 3)...(north >> 3) {
            let low = max(south, tileRow << 3)
            let high = min(north, tileRow << 3 | 7)
            // The names of tiles distinguish levels, whatever their fineness.
            let name = Grid.tileKey(side: key, level: level, tileRow: tileRow, tileColumn: 0)
            if fineness >= 3 {
                // The eight rows of a tile lie in one row of the coarsest level and share its columns.
                gather(window, ring, fineness, name, tileRow, low, high)
            } else {
                for row in low...high { gather(window, ring, fineness, name, tileRow, row, row) }
            }
        }
    }

    /// The cells of some rows of one row of tiles.
    @inline(__always)
    private mutating func gather(
        _ window: Window, _ ring: Ring?, _ fineness: Int, _ name: UInt64, _ tileRow: Int, _ low: Int, _ high: Int
    ) {
        let columns = Int(self.columns[low >> fineness]) << fineness
        let (first, second) = window.columns(of: columns)
        if let ring, second == nil, first.count < columns {
            let height = 3.0 / 32 / Double(1 << fineness)
            ring.span(rowsFrom: Double(tileRow << 3) * height - 90, height: height, columns: columns, into: spans)
            return gather(spansOf: low & 7...high & 7, first, name)
        }
        let rows = (UInt64.max &>> UInt64(63 - ((high & 7) << 3 | 7))) & (UInt64.max &<< UInt64((low & 7) << 3))
        gather(first, rows, name)
        if let second { gather(second, rows, name) }
    }

    /// The cells that `spans` leave of some rows of one row of tiles.
    private mutating func gather(spansOf rows: ClosedRange<Int>, _ columns: ClosedRange<Int>, _ name: UInt64) {
        for tileColumn in (columns.lowerBound >> 3)...(columns.upperBound >> 3) {
            var wanted: UInt64 = 0
            for row in rows {
                wanted |= spans[row].cells(ofColumnsFrom: Int32(truncatingIfNeeded: tileColumn << 3)) &<< UInt64(row << 3)
            }
            if wanted != 0 { gather(wanted, name | UInt64(tileColumn)) }
        }
    }

    @inline(__always)
    private mutating func gather(_ range: ClosedRange<Int>, _ rows: UInt64, _ name: UInt64) {
        for tileColumn in (range.lowerBound >> 3)...(range.upperBound >> 3) {
            let from = max(range.lowerBound - tileColumn << 3, 0)
            let to = min(range.upperBound - tileColumn << 3, 7)
            let columns = (UInt64(0xFF) &>> UInt64(7 - to)) & (UInt64(0xFF) &<< UInt64(from)) & 0xFF
            gather(rows & (columns &* 0x0101_0101_0101_0101), name | UInt64(tileColumn))
        }
    }

    /// The runs of some cells of one tile.
    @inline(__always)
    private mutating func gather(_ wanted: UInt64, _ name: UInt64) {
        guard let tile = directory.find(name) else { return }
        let record = directory.tiles[tile]
        var left = record.occupied & wanted
        while left != 0 {
            let cell = left.trailingZeroBitCount
            left &= left &- 1
            let run = record.runs + record.rank(of: cell)
            geomatch_prefetch(run)
            cells.append(run)
        }
    }

    /// Fills `hits` with what a sweep finds in runs gathered before, and asks for the first entries.
    @inline(__always)
    mutating func scan(_ first: Int, _ count: Int, _ sweep: Sweep, from side: Side) {
        hits.truncate(to: 0)
        var asked = 0
        for run in first..<first + count {
            let ahead = run + ProbePrefetch.runsAhead
            if ahead < runs.count { prefetch(runs[ahead], withOwners: !sweep.hasFormerPoint) }
            tally.candidates += UInt64(runs[run].count)
            lanes.scan(runs[run], sweep, into: &hits)
            while asked < min(hits.count, EngineState.hitsAhead) {
                geomatch_prefetch(entry(side.opposite, hits[asked]))
                asked += 1
            }
        }
        tally.arrivals += UInt64(hits.count)
    }

    /// Evaluates everything an entry is in range of now, whatever came before.
    ///
    /// - Parameter sparesKnown: Pairs that met before are left alone.
    mutating func probeAll(_ side: Side, _ index: UInt32, at now: Int64, sparesKnown: Bool = false) {
        probeSightings(side, index, at: now, sparesKnown: sparesKnown)
        let entry = entry(side, index).pointee
        guard entry.lane != none else { return }
        let device = devices[entry.device]
        runs.truncate(to: 0)
        let count = gather(
            side, index, latitude: device.latitude, longitude: device.longitude, point: device.point, from: nil)
        scan(0, count, Sweep(point: device.point, from: nil, range: entry.range, travelled: 0), from: side)
        resolve(side, index, at: now, sparesSelf: false, sparesKnown: sparesKnown)
        probeAccuracyAware(side, index, at: now, sparesSelf: false, sparesKnown: sparesKnown)
    }

    /// Evaluates an entry with each of `hits`.
    ///
    /// - Parameter sparesSelf: The device's own entries on the other side were dealt with.
    /// - Parameter sparesKnown: So were the pairs that met before.
    mutating func resolve(_ side: Side, _ index: UInt32, at now: Int64, sparesSelf: Bool, sparesKnown: Bool) {
        guard hits.count > 0, now < entry(side, index).pointee.expiresAt else { return }
        if side == .publication {
            resolvePublication(index, at: now, sparesSelf: sparesSelf, sparesKnown: sparesKnown)
        } else {
            resolveSubscription(index, at: now, sparesSelf: sparesSelf, sparesKnown: sparesKnown)
        }
    }

    /// How many hits ahead their entries are asked for: more at once than the processor can remember would be forgotten.
    private static let hitsAhead = 32

    /// Asks for the entry as many hits ahead; the first ones were asked for when they were found.
    @inline(__always)
    private func prefetch(from hit: Int, _ side: Side) {
        let ahead = hit + EngineState.hitsAhead
        if ahead < hits.count { geomatch_prefetch(entry(side.opposite, hits[ahead])) }
    }

    private mutating func resolvePublication(_ publication: UInt32, at now: Int64, sparesSelf: Bool, sparesKnown: Bool) {
        let device = publications[publication].device
        let properties = UnsafePointer(self.properties.base + Int(publication))
        programs.begin()
        let isLong = searchCost(1, publication) > 0
        for hit in 0..<hits.count {
            prefetch(from: hit, .publication)
            let other = hits[hit]
            let subscription = subscriptions.base + Int(other)
            guard now < subscription.pointee.expiresAt else { continue }
            if subscription.pointee.device == device && (sparesSelf || subscription.pointee.excludesSelf) { continue }
            if isLong, case let cost = searchCost(programs.searchesLeft(subscription.pointee.program), publication), cost > 0,
                postpones(other, publication, cost: cost, sparesKnown: sparesKnown)
            {
                continue
            }
            if programs.remembered(subscription.pointee.program, properties) {
                meet(other, publication, at: now, sparesKnown: sparesKnown)
            } else if subscription.pointee.hintsLeft > 0 && index.find(other, publication) == nil {
                doubts.append(UInt64(other) << 32 | UInt64(publication))
            }
        }
    }

    private mutating func resolveSubscription(_ subscription: UInt32, at now: Int64, sparesSelf: Bool, sparesKnown: Bool) {
        let record = subscriptions[subscription]
        var unmatched = FirstFew(doubts.count)
        // Most publications show by their signature that the selector is not TRUE of them.
        let signature = programs.signature(record.program)
        let isOpen = signature == .max
        var left = 0
        for hit in 0..<hits.count {
            prefetch(from: hit, .subscription)
            let other = hits[hit]
            let publication = publications.base + Int(other)
            guard now < publication.pointee.expiresAt else { continue }
            if publication.pointee.device == record.device && (sparesSelf || record.excludesSelf) { continue }
            if isOpen || publication.pointee.signature & signature != 0 {
                geomatch_prefetch(properties.base + Int(other))
                hits.replace(left, with: other)
                left += 1
            } else if record.hintsLeft > 0 && unmatched.wants(other) && index.find(subscription, other) == nil {
                unmatched.keep(UInt64(subscription) << 32 | UInt64(other), in: &doubts)
            }
        }
        hits.truncate(to: left)
        for hit in 0..<min(16, left) { properties.prefetchStorage(of: hits[hit]) }
        let searches = programs.searches(record.program)
        for hit in 0..<left {
            if hit + 16 < left { properties.prefetchStorage(of: hits[hit + 16]) }
            let other = hits[hit]
            if searches > 0, case let cost = searchCost(searches, other), cost > 0,
                postpones(subscription, other, cost: cost, sparesKnown: sparesKnown)
            {
                continue
            }
            if programs.evaluate(record.program, UnsafePointer(properties.base + Int(other))) {
                meet(subscription, other, at: now, sparesKnown: sparesKnown)
            } else if record.hintsLeft > 0 && unmatched.wants(other) && index.find(subscription, other) == nil {
                unmatched.keep(UInt64(subscription) << 32 | UInt64(other), in: &doubts)
            }
        }
    }
}

/// Keeps the eight publications with the lowest numbers of those a selector was not TRUE of.
///
/// Only so many evaluations ask for hints. Cells have no order a caller could know, so the lowest numbers are taken.
private struct FirstFew {
    private let start: Int
    private var greatest: (place: Int, publication: UInt32) = (0, 0)

    init(_ start: Int) { self.start = start }

    private static let few = Int(Entry.hints)
    private var full = false

    func wants(_ publication: UInt32) -> Bool { !full || publication < greatest.publication }

    mutating func keep(_ doubt: UInt64, in doubts: inout Scratch<UInt64>) {
        if full { doubts.replace(greatest.place, with: doubt) } else { doubts.append(doubt) }
        guard doubts.count - start == FirstFew.few else { return }
        full = true
        greatest = (start, UInt32(truncatingIfNeeded: doubts[start]))
        for place in start + 1..<doubts.count where UInt32(truncatingIfNeeded: doubts[place]) > greatest.publication {
            greatest = (place, UInt32(truncatingIfNeeded: doubts[place]))
        }
    }
}
