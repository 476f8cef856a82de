import LiveTopics
import Wire
import Records

// changes/get · follow · unfollow · conflicts

extension ChangeFeed {
    private static let followLeaseDefault = 3600.0

    func get(_ call: Call) throws(WireError) -> Outcome {
        try checkStoreId(call)
        let since = try call.parameters.since() ?? 0
        let limit = try call.parameters.listLimit()
        let shows = RowContent(
            leaves: try call.parameters.optionalBool("leaves") ?? false,
            documents: try call.parameters.optionalBool("content") ?? true,
            counts: try call.parameters.optionalBool("counts") ?? false)
        var query = query(since: since, limit: limit, call)
        if shows.counts {
            query.countsOwn = true
            query.countsSharedUnlessAt = countDue(
                query.reader == nil ? counts.all : counts.shared, call)
        }
        return .query(.feed(query), .feed(.get(shows)))
    }

    /// Without `since` it goes on where it is, or begins with what comes from now on. The store is asked where the feed ends before
    /// there is a follower.
    func follow(_ call: Call) throws(WireError) -> Outcome {
        try checkStoreId(call)
        let since = try call.parameters.since()
        let lease = try call.parameters.lease("lease", maximum: limits.leaseSeconds) ?? Self.followLeaseDefault
        guard
            followers[call.dataset.id, call.client.name] != nil
                || followers.count(of: call.dataset.id) < limits.followers
        else { throw WireError(.limit, "the dataset has \(limits.followers) followers, the maximum") }
        return .query(
            .feed(query(since: since ?? 0, limit: 1, call)), .feed(.follow(since: since, lease: lease)))
    }

    /// It takes the same way as `follow`, so that the later of the two counts.
    func unfollow(_ call: Call) throws(WireError) -> Outcome {
        .query(.feed(query(since: .max - 1, limit: 1, call)), .feed(.unfollow))
    }

    func conflicts(_ call: Call) throws(WireError) -> Outcome {
        let page = try Page(call.parameters)
        let type = try call.parameters.id("type")
        // As elsewhere, administrators name another client's geofence by `client/id`.
        let isGeofence = type == DocumentType.geofence.rawValue
        let id = isGeofence ? try call.parameters.string("id", bytes: 1...256) : try call.parameters.id("id")
        let lookup = DocumentLookup(
            dataset: call.dataset.id, type: type, id: documentID(of: type, id, call), revisions: [], after: page.after)
        return .query(.documents([lookup]), .reply(limit: page.limit))
    }

    private func query(since: Int64, limit: Int, _ call: Call) -> FeedQuery {
        FeedQuery(
            dataset: call.dataset.id, since: since, limit: limit, bytes: Page.maximumBytes,
            reader: call.client.isAdministrator ? nil : call.client.name)
    }

    private func checkStoreId(_ call: Call) throws(WireError) {
        guard let known = try call.parameters.optionalString("storeId", characters: 1...128) else { return }
        let own = call.dataset.storeId
        guard known == own else {
            throw WireError(.conflict, "the feed is that of \(own), not of `\(known.prefix(64))`: start at 0", field: "storeId")
        }
    }

    // MARK: What the store found

    func result(of query: StoreQuery, _ feed: FeedQuery, _ page: FeedPage, in dataset: Dataset, _ turn: inout Turn)
        throws(WireError) -> [UInt8]
    {
        guard case .feed(let use) = query.use else { return encodeEnd(page, of: dataset) }
        if dataset.isBeingDeleted { throw .unknownDataset(dataset.id) }
        switch use {
        case .get(let shows):
            try check(feed.since, page)
            let counted = shows.counts ? count(feed, page, at: turn.now) : nil
            return encode(page, since: feed.since, of: dataset, shows, counted).bytes
        case .follow(let since, let lease):
            if let since { try check(since, page) }
            let client = query.reply.client
            let known = followers[dataset.id, client]
            let record = FollowerRecord(
                dataset: dataset.id, client: client, since: since ?? known?.record.since ?? page.last, lease: lease,
                leaseUntil: deadline(from: turn.now, duration: lease))
            try turn.asking(true) { turn throws(WireError) in
                followers.follow(record, keeping: since == nil ? known : nil, &turn)
            }
            return encodeEnd(page, of: dataset)
        case .unfollow, .stream:
            try turn.asking(true) { turn throws(WireError) in
                if let known = followers[dataset.id, query.reply.client] { followers.unfollow(known, &turn) }
            }
            return encodeEnd(page, of: dataset)
        }
    }

    /// Counting takes as long as the feed is: it is done once for each place where it ends, and of long ones at most once a minute.
    ///
    /// - Returns: Where the feed must not end any more for it to be counted; nil: not now.
    private func countDue(_ known: CountedFeed?, _ call: Call) -> Int64? {
        guard let known else { return -1 }
        let isLong = known.count.live + known.count.deleted > Self.countedAtOnce
        return isLong && call.now - known.at < Self.countMilliseconds && call.now >= known.at ? nil : known.last
    }

    private static let countedAtOnce = 10_000
    private static let countMilliseconds: Int64 = 60_000

    private func count(_ feed: FeedQuery, _ page: FeedPage, at now: Int64) -> FeedCount {
        if let count = page.sharedCount {
            let counted = CountedFeed(last: page.last, at: now, count: count)
            if feed.reader == nil { counts.all = counted } else { counts.shared = counted }
        }
        let known = feed.reader == nil ? counts.all : counts.shared
        var count = known?.count ?? FeedCount(live: 0, deleted: 0)
        count.live += page.ownCount?.live ?? 0
        count.deleted += page.ownCount?.deleted ?? 0
        return count
    }

    private func check(_ since: Int64, _ page: FeedPage) throws(WireError) {
        guard since <= page.last else {
            throw WireError(.conflict, "the feed ends at \(page.last), before `since` \(since): start at 0", field: "since")
        }
        guard since == 0 || since >= page.purgedThrough else {
            throw WireError(
                .conflict, "deletions up to \(page.purgedThrough) are kept no longer: start at 0, not at \(since)", field: "since"
            )
        }
    }

    /// What lost against the winner, best first; a deletion as `{"id","type","revision","deleted":true}`.
    func result(
        _ document: KnownDocument?, _ lookup: DocumentLookup, limit: Int, for client: RequestingClient
    ) throws(WireError) -> [UInt8] {
        guard let document, document.history.winner != nil else {
            throw WireError(.notFound, "there is no \(lookup.type) `\(lookup.id)`", field: "id")
        }
        guard client.isAdministrator || document.reader == nil || document.reader == client.name else {
            throw WireError(.forbidden, "the \(lookup.type) `\(lookup.id)` belongs to another client", field: "id")
        }
        var losers = document.history.losers
        if let after = lookup.after {
            guard let place = losers.firstIndex(where: { $0.revision.text == after }) else {
                throw WireError(.notFound, "`after` names no revision that lost", field: "after")
            }
            losers = losers[(place + 1)...]
        }
        return Page(limit: limit).encode(
            "conflicts", losers, id: \.revision.text,
            item: { leaf in
                guard leaf.isDeleted || leaf.content == nil else { return leaf.content }
                return JSONWriter.object { writer in
                    writer.member("id", lookup.id)
                    writer.member("type", lookup.type)
                    writer.member("revision", leaf.revision.text)
                    writer.member("deleted", leaf.isDeleted)
                }
            })
    }

    // MARK: Encoding

    private func encodeEnd(_ page: FeedPage, of dataset: Dataset) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("storeId", dataset.storeId)
            writer.member("last", page.last)
        }
    }

    /// `{"storeId","since","last","rows":[…],"more"?}`: `last` is what to go on from, so the row shown last where there is more.
    ///
    /// An object that has changed since the page was read is left out: a row further on has it.
    ///
    /// - Returns: Also `last`, and how many rows there are.
    func encode(
        _ page: FeedPage, since: Int64, of dataset: Dataset, _ shows: RowContent = RowContent(), _ counted: FeedCount? = nil
    ) -> Followers.Message {
        var rows = JSONWriter()
        rows.beginArray()
        var last = since
        var count = 0
        var isPart = page.isPart
        for row in page.rows {
            if let text = encode(row, of: dataset, shows) {
                guard count == 0 || rows.bytes.count + text.count < Page.maximumBytes else {
                    isPart = true
                    break
                }
                rows.raw(text)
                count += 1
            }
            last = row.seq
        }
        rows.endArray()
        if !isPart { last = page.last }
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("storeId", dataset.storeId)
        // Who gets a page it did not ask for sees by this whether one is missing before it.
        writer.member("since", since)
        writer.member("last", last)
        writer.key("rows")
        writer.raw(rows.bytes)
        if isPart { writer.member("more", true) }
        if let counted {
            writer.member("documents", counted.live)
            writer.member("deleted", counted.deleted)
        }
        if shows.leaves { writer.member("end", page.last) }
        writer.endObject()
        return (writer.bytes, last, count, isPart)
    }

    private func encode(_ row: FeedRow, of dataset: Dataset, _ shows: RowContent) -> [UInt8]? {
        var content = row.content
        if !row.isDeleted, let type = DocumentType(rawValue: row.type) {
            guard dataset.revision(of: type, row.id) == row.revision else { return nil }
            if shows.documents { content = dataset.content(of: type, row.id) }
        }
        return JSONWriter.object { writer in
            writer.member("seq", row.seq)
            // Two clients may have geofences of one id: the feed knows them by their paths.
            let isGeofence = row.type == DocumentType.geofence.rawValue
            writer.member("id", isGeofence ? GeofenceRecord.id(inPath: row.id) : row.id)
            if isGeofence, shows.leaves { writer.member("path", row.id) }
            writer.member("type", row.type)
            writer.member("revision", row.revision)
            if row.isDeleted { writer.member("deleted", true) }
            if !row.conflicts.isEmpty { writer.member("conflicts", row.conflicts) }
            if shows.leaves { writer.member("leaves", [row.revision] + row.losers.map(\.revision.text)) }
            if !row.isDeleted, shows.documents, let content {
                writer.key("doc")
                writer.raw(content)
            }
        }
    }
}

extension Parameters {
    fileprivate func since() throws(WireError) -> Int64? {
        try optionalInteger("since", in: 0...Int.max).map(Int64.init)
    }
}

/// What a page of the feed shows beside the revision of each document.
struct RowContent: Equatable, Sendable {
    /// The revisions of all leaves.
    var leaves = false
    var documents = true
    /// How many documents there are.
    var counts = false
}

/// How many documents a feed had where and when it was counted.
struct CountedFeed {
    var last: Int64
    var at: Int64
    var count: FeedCount
}
