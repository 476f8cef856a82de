import Geodesy
import LiveTopics
import Wire
import Records

// In which room a position is, as its live message and the occupancy say.

extension Hub {
    /// Where in the structure a device is: what the topic of its position names, else the outlines that hold it.
    ///
    /// - Returns: nil where it stands nowhere, or neither its room nor its floor can be told.
    func whereabouts(of device: Device, in dataset: Dataset) -> Whereabouts? {
        device.positionTopic.flatMap(whereabouts)
    }

    /// The room a device is in; nil where that cannot be told.
    func room(of device: Device, in dataset: Dataset) -> String? { whereabouts(of: device, in: dataset)?.room }

    /// Where in the structure a known position is.
    func whereabouts(of state: LiveState) -> Whereabouts? {
        guard let payload = state.payload, let update = LiveMessage.update(inPayload: payload, using: parser) else { return nil }
        return whereabouts(of: update, at: state)
    }

    func whereabouts(of update: LiveUpdate, at state: LiveState) -> Whereabouts? {
        guard let position = update.position else { return nil }
        let stated = locator(of: state.dataset) { $0.statedLevels(of: state.topic) }
        return locator(of: state.dataset) {
            $0.whereabouts(of: position, floorIndex: update.floorIndex, stated: stated)
        }
    }

    /// Finds where a position is and adds to its properties what its topic leaves open: `venue`, `building`, `floor`, `room`.
    ///
    /// A property that was sent under one of these names stays as it was sent.
    func locate(_ update: LiveUpdate, at state: LiveState) -> Whereabouts? {
        guard let position = update.position else { return nil }
        let stated = locator(of: state.dataset) { $0.statedLevels(of: state.topic) }
        let found = locator(of: state.dataset) {
            $0.whereabouts(of: position, floorIndex: update.floorIndex, stated: stated)
        }
        guard let found else { return nil }
        for level in StructureLevel.allCases.dropLast() where stated?.says(level) != true {
            let id = found.levels[level.depth]
            if id != LiveTopic.notApplicable { appendProperty(level.rawValue, id) }
        }
        return found
    }

    private func locator<Result>(of dataset: Dataset, _ body: (inout Locator) -> Result) -> Result {
        // Taken out and put back, so that it is changed in place.
        var locator = dataset.locator ?? Locator(dataset.structure)
        dataset.locator = nil
        defer { dataset.locator = locator }
        return body(&locator)
    }

    /// Adds a member to the properties in the scratch buffer, unless it is there.
    private func appendProperty(_ name: String, _ value: String) {
        // Behind a closing quote a colon stands after keys only, and a quote within a text is escaped.
        guard properties.last == UInt8(ascii: "}"), !properties.contains(sequence: Array("\"\(name)\":".utf8)) else { return }
        properties.removeLast()
        if properties.last != UInt8(ascii: "{") { properties.append(UInt8(ascii: ",")) }
        var writer = JSONWriter()
        swap(&writer.bytes, &properties)
        writer.key(name)
        writer.string(value)
        writer.endObject()
        swap(&writer.bytes, &properties)
    }
}

extension [UInt8] {
    fileprivate func contains(sequence: [UInt8]) -> Bool {
        guard let first = sequence.first, count >= sequence.count else { return false }
        for start in 0...(count - sequence.count) where self[start] == first {
            if self[start..<(start + sequence.count)].elementsEqual(sequence) { return true }
        }
        return false
    }
}

extension Dataset {
    /// Positions are looked up in the structure: it has outlines, or somebody counts who is where.
    var locatesPositions: Bool { structure.hasOutlines || record.derivedOccupancy }
}
