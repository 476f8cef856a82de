import DaemonCore
import Datasets
import HTTPTypes

// GET /metrics

/// All figures, gathered on the core's thread in one go.
struct MetricsFigures: Sendable {
    var datasets: [DatasetFigures]
    /// What datasets counted that are deleted.
    var deleted: DatasetFigures
    var meters: Meters
    var matchDelay: Histogram
    var isOnline: Bool
    var requestsWaiting: Int
    /// Of a dataset that takes nothing in at present.
    var inputsWaiting: Int
    var isWritable: Bool

    /// Adds those of another loop of the daemon.
    mutating func add(_ other: MetricsFigures) {
        datasets += other.datasets
        deleted = .sum([deleted, other.deleted])
        meters.add(other.meters)
        matchDelay.add(other.matchDelay)
        requestsWaiting += other.requestsWaiting
        inputsWaiting += other.inputsWaiting
        isWritable = isWritable && other.isWritable
    }

    /// What is left of a loop that has ended: counters.
    fileprivate var afterEnd: MetricsFigures {
        var figures = self
        figures.datasets = datasets.map(\.afterHandOver)
        (figures.requestsWaiting, figures.inputsWaiting, figures.isWritable) = (0, 0, true)
        return figures
    }

    /// One that is served here again goes on with what it counted here before.
    fileprivate mutating func uniteDatasets() { datasets = DatasetFigures.united(datasets) }
}

extension HTTPResponder {
    func metrics(_ exchange: HTTPExchange) async throws -> Routed {
        let head = exchange.head
        guard head.method == .get || head.method == .head else { throw HTTPRefusal.method(head.method, allow: "GET, HEAD") }
        let mayRead = try await reader(of: exchange)
        guard var figures = await door.onCore({ $0.figures }) else { throw HTTPRefusal.unavailable("the daemon ends") }
        for served in door.servedDoors {
            // One that is handed over meanwhile is the next owner's.
            if let more = await served.onCore({ $0.figures }) { figures.add(more) }
        }
        if let more = door.figuresOfFormer.withLock({ $0 }) { figures.add(more) }
        figures.uniteDatasets()
        if door.configuration.tellsDatasets { figures.datasets.removeAll { !mayRead($0.dataset) } }
        let format = MetricsText.Format(accept: head.fields[.accept])
        var text = MetricsText(format)
        text.write(figures, of: door)
        text.end()
        return .answer(HTTPAnswer(.ok, type: format.contentType, Array(text.text.utf8)))
    }

    /// The caller: on this machine without a key, or an administrator.
    ///
    /// - Returns: Which datasets they may hear of by name.
    private func reader(of exchange: HTTPExchange) async throws -> (_ dataset: String) -> Bool {
        let head = exchange.head
        guard head.credentials != nil || door.configuration.isBehindProxy || !head.isFromLoopback else {
            try door.callers.checkPage(head)
            return { _ in true }
        }
        let caller = try door.callers.caller(of: head, for: nil)
        guard let administrators = await door.onCore({ $0.core.hub.configuration.administrators }) else {
            throw HTTPRefusal.unavailable("the daemon ends")
        }
        // With a key for all, of any dataset.
        let isAdministrator =
            caller.dataset.map { administrators.allow(client: caller.client, in: $0) }
            ?? administrators.allowAnywhere(client: caller.client)
        guard isAdministrator else {
            throw HTTPRefusal.forbidden("metrics are for administrators, and for this machine without a key")
        }
        return { (caller.dataset ?? $0) == $0 && administrators.allow(client: caller.client, in: $0) }
    }
}

extension HTTPDoor {
    /// The loop of a shard has ended, as another node has it now: what it counted stays counted, or counters would fall.
    public func keepFigures(of former: HTTPDoor) {
        let more = former.figures.afterEnd
        figuresOfFormer.withLock { known in
            var figures = more
            if let known { figures.add(known) }
            figures.uniteDatasets()
            if figures.datasets.count > Self.formerMax {
                figures.deleted = .sum([figures.deleted] + figures.datasets)
                figures.datasets = []
            }
            known = figures
        }
    }

    /// So many names are remembered; beyond, they begin anew.
    private static let formerMax = 10_000

    var figures: MetricsFigures {
        MetricsFigures(
            datasets: configuration.tellsDatasets ? core.hub.figuresOverLives : core.hub.figures,
            deleted: core.hub.figuresOfDeleted, meters: core.meters, matchDelay: matchDelay,
            isOnline: core.health.isOnline, requestsWaiting: core.waitingRequests, inputsWaiting: core.hub.waitingInputCount,
            // A node's own loop writes nothing.
            isWritable: core.log?.isWritable ?? (configuration.forwarding != nil))
    }
}

extension MetricsText {
    mutating func write(_ figures: MetricsFigures, of door: HTTPDoor) {
        if door.configuration.tellsDatasets {
            write(figures.datasets) { [("dataset", $0.dataset)] }
        } else {
            write([.sum(figures.datasets + [figures.deleted])]) { _ in [] }
        }
        histogram("geomatch_request_duration_seconds", "From a request's arrival to its reply.", figures.meters.requests)
        histogram(
            "geomatch_update_to_match_seconds", "From the batch that an update came in with to the leaving of the match.",
            figures.matchDelay)
        histogram("geomatch_store_commit_seconds", "From a change to its being durable.", figures.meters.commits)
        gauge("geomatch_store_writable", "1 while the store takes changes.", figures.isWritable ? 1 : 0)
        if let bytes = door.configuration.storeBytes() {
            gauge("geomatch_store_size_bytes", "Size of the store's files.", Double(bytes))
        }
        gauge("geomatch_mqtt_connected", "1 while the daemon is online at its broker.", figures.isOnline ? 1 : 0)
        counter(
            "geomatch_mqtt_reconnects_total", "How often the daemon was online again.",
            Double(max(0, figures.meters.openings - 1)))
        gauge(
            "geomatch_mqtt_subscription_refused", "Filters of this connection that the broker refused.",
            Double(figures.meters.refusedSubscriptions))
        gauge(
            "geomatch_mqtt_inbound_queue_messages", "Updates and requests that came in and wait to be handled.",
            Double(figures.requestsWaiting + figures.inputsWaiting))
        gauge(
            "geomatch_requests_waiting", "Requests that wait in their clients' queues.", Double(figures.requestsWaiting))
        let posts = figures.meters.posts
        counter(
            "geomatch_pusher_requests_total", "Posts to webhooks and push services, by outcome.",
            Meters.PostLabels.all.map { ([("kind", $0.kind), ("outcome", $0.outcome)], Double(posts[$0] ?? 0)) })
        counter(
            "geomatch_push_faults_total",
            "Minutes in which a push service took nothing for a reason that the operator has to mend.",
            PushKind.allCases.map { ([("kind", $0.rawValue)], Double(figures.meters.pushFaults[$0] ?? 0)) })
        gauge("geomatch_http_connections", "Open connections of HTTP.", Double(door.connections.all))
        gauge("geomatch_build_info", "The version that runs.", [([("version", door.configuration.version)], 1)])
        writeProcess()
    }

    private mutating func write(_ datasets: [DatasetFigures], labels: (DatasetFigures) -> Labels) {
        func samples(_ values: (DatasetFigures) -> [(labels: Labels, count: Int)]) -> [(labels: Labels, value: Double)] {
            datasets.flatMap { dataset in values(dataset).map { (labels(dataset) + $0.labels, Double($0.count)) } }
        }
        counter(
            "geomatch_updates_total", "Live updates, by what became of them.",
            samples { $0.updates.map { ([("outcome", $0.outcome)], $0.count) } })
        counter(
            "geomatch_requests_total", "Requests, by name and outcome.",
            samples { dataset in
                dataset.requests.map { request, outcome, count in
                    let name = request.split(separator: "/").map(String.init)
                    return ([("resource", name[0]), ("verb", name.last ?? ""), ("outcome", outcome)], count)
                }
            })
        counter(
            "geomatch_match_messages_total",
            "Matches, by what became of them: matched = delivered + expired + dropped + pending.",
            samples { $0.matches.map { ([("outcome", $0.outcome)], $0.count) } })
        gauge(
            "geomatch_match_messages_pending", "Matches that are not yet with everyone they are for.",
            samples { [([], $0.matchesPending)] })
        for kind in DatasetFigures.kinds {
            gauge(
                "geomatch_\(kind)", "How many \(kind.replacing("_", with: " ")) there are.",
                samples { $0.objects.filter { $0.kind == kind }.map { ([], $0.count) } })
        }
    }

    private mutating func writeProcess() {
        guard let process = ProcessFigures() else { return }
        counter("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", process.cpuSeconds)
        gauge("process_resident_memory_bytes", "Resident memory size in bytes.", process.residentBytes)
        gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.", process.virtualBytes)
        gauge("process_open_fds", "Number of open file descriptors.", process.openFiles)
        gauge("process_max_fds", "Maximum number of open file descriptors.", process.maximumFiles)
        gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.", process.startSeconds)
    }
}
