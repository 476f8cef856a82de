import GeomatchClient

/// The arguments of the program.
struct Options {
    var broker = "mqtt://127.0.0.1:1883"
    var dataset = "demo"
    var client = "example"
    var criteria = LiveCriteria()
    var devices: [String] = []

    static let usage = """
        geomatch-example [--broker URL] [--dataset D] [--client C] [--venue V] [--building B] [--floor F] [--room R]
                         [--domain D] [--where CONDITION] [--device ID]…

          --broker URL   mqtt[s]://[user[:password]@]host[:port] (default: mqtt://127.0.0.1:1883)
          --dataset D    default: demo
          --client C     the name you are known by (default: example)
          --venue V …    levels of the live data to follow; those left out are open
          --where …      a condition over an update's properties, such as "nrOfPeople > 3"
          --device ID    a device of yours, or without an owner, whose matches are shown
        """

    struct UsageError: Error, CustomStringConvertible {
        var description: String
    }

    init(_ arguments: some Sequence<String>) throws {
        var rest = Array(arguments)[...]
        while let flag = rest.popFirst() {
            if flag == "--help" { throw UsageError(description: "follows live data and matches of geomatch") }
            guard let value = rest.popFirst() else { throw UsageError(description: "\(flag) has no value") }
            switch flag {
            case "--broker": broker = value
            case "--dataset": dataset = value
            case "--client": client = value
            case "--venue": criteria = criteria.venue(value)
            case "--building": criteria = criteria.building(value)
            case "--floor": criteria = criteria.floor(value)
            case "--room": criteria = criteria.room(value)
            case "--domain": criteria = criteria.domain(LiveDomain(rawValue: value))
            case "--where": criteria = criteria.where(value)
            case "--device": devices.append(value)
            default: throw UsageError(description: "\(flag) is not known")
            }
        }
    }
}
