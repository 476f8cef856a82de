import Geodesy
import Places
import Wire
import Records

// place/import · get · list · delete · verify, category/import · list
//
// What changes places changes circumstances and geofences, too: they hear of it in the same turn.

extension PlaceBook {
    func importPlaces(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let collection = try call.parameters.nested("places")
        _ = try collection.word("type", of: ["FeatureCollection"])
        let features = try collection.array("features")
        call.dataset.circumstances.activate(at: call.now)
        var work = PlaceImport(into: self, of: call.dataset.id, by: call.client)
        work.importAll(features) { id, isNew, change throws(WireError) in
            if isNew {
                try call.dataset.checkShare(ofPlaces: table.count(ownedBy: call.client.name), for: call.client)
            }
            // What follows from it comes behind it, so that a store that refuses the one refuses the other.
            try call.dataset.circumstances.changePlace(id, &turn, change)
            call.dataset.geofences.placeChanged(id, &turn)
        }
        for record in work.records { turn.keep(.put(record)) }
        return work.encoded()
    }

    func get(_ call: Call) throws(WireError) -> [UInt8] {
        let (_, handle) = try place(named: "id", call)
        return describe(handle)
    }

    func list(_ call: Call) throws(WireError) -> [UInt8] {
        let parameters = call.parameters
        let page = try Page(parameters)
        var filter = PlaceFilter()
        if let within = parameters.value("within") { filter.area = try AreaCoding.decode(within) }
        if let category = parameters.value("categoryId") { filter.categoryID = try PlaceReader.id(category, "categoryId") }
        if let chain = parameters.value("chainId") { filter.chainID = try PlaceReader.id(chain, "chainId") }
        let found = table.page(filter, after: page.after, limit: page.limit)
        return JSONWriter.object { writer in
            writer.key("places")
            writer.beginArray()
            // Few may be found though more are behind: the table looks at so many for one page.
            var next = found.next
            var last: PlaceTable.Handle?
            for handle in found.handles {
                let object = describe(handle)
                if let last, writer.bytes.count + object.count > Page.maximumBytes {
                    next = table.id(last)
                    break
                }
                writer.raw(object)
                last = handle
            }
            writer.endArray()
            writer.member("next", optional: next)
        }
    }

    func delete(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let (id, handle) = try place(named: "id", call)
        try call.checkOwner(table.owner(handle), of: "place", id)
        try call.parameters.checkRevision(table.revision(handle) ?? "")
        try call.dataset.circumstances.changePlace(id, &turn) { () throws(WireError) in remove(id) }
        call.dataset.geofences.placeChanged(id, &turn)
        turn.keep(.deletePlace(dataset: call.dataset.id, id: id))
        return deleted(id)
    }

    /// A device says that it is at one of its last candidates: a prior for the next request.
    func verify(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let device = try call.device()
        let (id, handle) = try place(named: "placeId", call)
        guard let isNew = verify(id, of: device.record.id) else {
            throw WireError(
                .invalid, "`placeId` must be among the candidates that `place/candidates` last answered for the device",
                field: "placeId")
        }
        if isNew {
            let former = verifications[id] ?? [:]
            let hour = hourOfWeek(at: handle, call.now)
            let count = (former[hour] ?? 0) + 1
            setVerifications(of: id, in: hour, to: count)
            turn.keep(
                .put(VerificationRecord(dataset: call.dataset.id, placeID: id, hour: hour, count: count)))
        }
        return Array(#"{"verified":true}"#.utf8)
    }

    func importCategories(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let values = try call.parameters.array("categories")
        let dataset = call.dataset
        var report = ImportReport()
        var categories: [Category] = []
        var places = ByteKeyed<Int>()
        for (index, value) in values.enumerated() {
            do throws(WireError) {
                let category = try category(value, call)
                if let known = places[category.id] {
                    report.warn("the category `\(category.id)` comes twice; the last one counts")
                    categories[known] = category
                } else {
                    places[category.id] = categories.count
                    categories.append(category)
                }
            } catch {
                report.refuse(CategoryReader.shownID(of: value), error, element: index, called: "category")
            }
        }
        let before = categories.map { table.categories[$0.id] }
        let added = zip(categories, before).filter { $0.1 == nil }.count
        guard table.categories.count + added <= call.limits.categories else {
            throw WireError(.limit, "the dataset has at most \(call.limits.categories) categories", field: "categories")
        }
        try dataset.checkShare(ofCategories: added, for: call.client)
        do throws(CategoryError) {
            let result = try table.declare(categories)
            report.imported = result.imported
            report.replaced = result.replaced
            for id in result.unknownParents { report.warn("the category `\(id)` is a parent and not declared") }
        } catch {
            throw WireError(.invalid, error.message, field: "categories")
        }
        for (category, before) in zip(categories, before) where category != before {
            turn.keep(.put(CategoryRecord(dataset: dataset.id, category: category)))
        }
        if report.imported + report.replaced > 0 { dataset.circumstances.worldChanged() }
        return report.encoded("categories")
    }

    /// A category with its owner and its next revision.
    private func category(_ value: JSONValue, _ call: Call) throws(WireError) -> Category {
        var category = try CategoryReader.category(value)
        let known = table.categories[category.id]
        if let known { try call.checkOwner(known.owner, of: "category", category.id) }
        category.owner = known == nil ? call.client.name : known?.owner
        let revision = Revision.next(after: known?.revision, content: category.content())
        category.revision = known?.revision.flatMap { Revision.saysTheSame($0, revision) ? $0 : nil } ?? revision
        return category
    }

    func listCategories(_ call: Call) throws(WireError) -> [UInt8] {
        let page = try Page(call.parameters)
        let categories = table.categories.list(after: page.after, limit: page.limit + 1)
        return page.encode("categories", categories, id: \.id, item: { $0.encoded() })
    }

    // MARK: Parts

    func place(named key: String, _ call: Call) throws(WireError) -> (id: String, handle: PlaceTable.Handle) {
        let value = call.parameters.value(key)
        // Numbers are ids in GeoJSON.
        let id = value?.asInt64 == nil ? try call.parameters.id(key) : try PlaceReader.id(value, key)
        guard let handle = table.handle(of: id) else {
            throw absent(id, field: key, call)
        }
        return (id, handle)
    }

    /// Places are read by all.
    func absent(_ id: String, field: String, _ call: Call) -> WireError {
        let handles = table.count <= Call.nearMax ? table.page(limit: Call.nearMax).handles : []
        return call.absent("place", id, of: handles.map(table.id), field: field) { _ in nil }
    }

    /// The place with its representative point.
    func describe(_ handle: PlaceTable.Handle) -> [UInt8] {
        let point = table.point(of: handle)
        return JSONWriter.object { writer in
            table.place(handle).encodeMembers(into: &writer)
            writer.member("latitude", point.latitude)
            writer.member("longitude", point.longitude)
        }
    }
}
