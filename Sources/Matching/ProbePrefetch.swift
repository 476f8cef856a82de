import CPrefetch
import Geodesy

/// What a group of moves needs, looked up ahead of the work so that the misses of one move pass during those of the others.
///
/// It holds nothing the work does not check or could not find itself: runs are used only while no run of that side has changed.
struct ProbePrefetch {
    struct Probe: BitwiseCopyable {
        var firstRun: Int
        var runCount: Int
        var version: UInt64
        /// From where the runs were chosen: the device may have moved since, in the same group.
        var former: GridPoint?
    }

    static let groupSize = 16
    /// Lines asked for earlier would push each other out of the few the processor fetches at once.
    static let runsAhead = 6

    var probes = Scratch<Probe>()
    var points = Scratch<GridPoint>()
    /// Where each move's probes begin.
    var starts = Scratch<Int>()

    var bytes: Int { probes.bytes + points.bytes + starts.bytes }

    func deallocate() {
        probes.deallocate()
        points.deallocate()
        starts.deallocate()
    }
}

extension EngineState {
    /// Moves devices one after the other, a group at a time through the same stages. The effects are those of single moves.
    mutating func move(_ moves: UnsafeBufferPointer<Move>, at now: Int64, into effects: inout [Effect]) {
        var start = 0
        while start < moves.count {
            let end = min(start + ProbePrefetch.groupSize, moves.count)
            prepare(moves, start..<end)
            for place in start..<end {
                let move = moves[place]
                guard isPossible(move) else { continue }
                let number = place - start
                let probes = probePrefetch.starts[number]..<probePrefetch.starts[number + 1]
                self.move(
                    move.device.index, move.position, probePrefetch.points[number], move.floor, fixedAt: move.fixedAt, at: now,
                    probePrefetch: probes)
                finish(into: &effects)
            }
            start = end
        }
    }

    func isAlive(_ device: DeviceRef) -> Bool { Int(device.index) < devices.used && devices[device.index].isAlive }

    @inline(__always)
    private func isPossible(_ move: Move) -> Bool {
        isAlive(move.device) && Position.isValid(latitude: move.position.latitude, longitude: move.position.longitude)
    }

    private mutating func prepare(_ moves: UnsafeBufferPointer<Move>, _ group: Range<Int>) {
        runs.truncate(to: 0)
        cells.truncate(to: 0)
        probePrefetch.probes.truncate(to: 0)
        probePrefetch.points.truncate(to: 0)
        probePrefetch.starts.truncate(to: 0)
        for place in group {
            geomatch_prefetch(devices.base + Int(moves[place].device.index))
            heard.prefetch(moves[place].device.index)
        }
        for place in group {
            let position = moves[place].position
            probePrefetch.points.append(GridPoint(latitude: position.latitude, longitude: position.longitude))
        }
        for place in group where isAlive(moves[place].device) {
            let device = devices[moves[place].device.index]
            if device.firstPublication != none {
                geomatch_prefetch(publications.base + Int(device.firstPublication))
                geomatch_prefetch(properties.base + Int(device.firstPublication))
            }
            if device.firstSubscription != none { geomatch_prefetch(subscriptions.base + Int(device.firstSubscription)) }
        }
        if !programs.names.isEmpty {
            for place in group where isAlive(moves[place].device) {
                let publication = devices[moves[place].device.index].firstPublication
                if publication != none { properties.prefetchStorage(of: publication) }
            }
        }
        for place in group { prepareProbes(moves[place], probePrefetch.points[place - group.lowerBound]) }
        probePrefetch.starts.append(probePrefetch.probes.count)
        openCells(withOwners: false)
    }

    private mutating func prepareProbes(_ move: Move, _ point: GridPoint) {
        probePrefetch.starts.append(probePrefetch.probes.count)
        guard isPossible(move) else { return }
        let device = devices[move.device.index]
        let former = device.isPlaced ? device.point : nil
        for side in [Side.publication, .subscription] {
            var index = devices[move.device.index].first(side)
            while index != none {
                let entry = entry(side, index)
                if entry.pointee.lane != none { lanes.prefetch(entry.pointee.lane) }
                let first = cells.count
                let count = choose(
                    side, index, in: entry.pointee.topic,
                    Place(move.position, point, range: entry.pointee.range, from: former))
                probePrefetch.probes.append(
                    ProbePrefetch.Probe(firstRun: first, runCount: count, version: version(side.opposite), former: former))
                index = entry.pointee.next
            }
        }
    }

    /// Asks for a run's first lines; the processor itself sees a longer one coming.
    @inline(__always)
    func prefetch(_ run: Run, withOwners: Bool) {
        if withOwners { lanes.prefetchOwners(of: run) }
        let block = lanes.blocks + Int(run.block) * LanePool.blockBytes
        var ahead = 0
        let end = min((run.count + 7) / 8, 4) * LanePool.blockBytes
        while ahead < end {
            geomatch_prefetch(block + ahead)
            ahead += 64
        }
    }
}
