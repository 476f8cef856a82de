import Records
import Wire

// match/get · list: the store has the bodies

extension Geomatching {
    func getMatch(_ call: Call) throws(WireError) -> Outcome {
        .query(.match(dataset: dataset, id: try call.parameters.id("id")), .reply(limit: 1))
    }

    func listMatches(_ call: Call) throws(WireError) -> Outcome {
        let device = try call.device()
        let page = try Page(call.parameters)
        return .query(
            .matches(dataset: dataset, deviceId: device.record.id, after: page.after), .reply(limit: page.limit))
    }
}
