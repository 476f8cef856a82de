import Geodesy
import Places
import Wire
import Records

// place/import · get · list · delete, category/import · list

extension Hub {
    func importPlaces(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let collection = try call.parameters.nested("places")
        _ = try collection.word("type", of: ["FeatureCollection"])
        let features = try collection.array("features")
        call.dataset.circumstances.activate(at: call.now)
        var work = PlaceImport(into: call.dataset.places, of: call.dataset.id, by: call.client)
        let table = call.dataset.places.table
        work.take(features) { id, isNew, change throws(WireError) in
            if isNew {
                try self.checkShare(ofPlaces: table.count(ownedBy: call.client.name), for: call.client, in: call.dataset)
            }
            // What follows from it comes behind it, so that a store that refuses the one refuses the other.
            try call.dataset.circumstances.changePlace(id, &turn, change)
            placeChanged(id, in: call.dataset, &turn)
        }
        for record in work.records { turn.keep(.put(record)) }
        return work.encoded()
    }

    func getPlace(_ call: Call) throws(WireError) -> [UInt8] {
        let (_, handle) = try place(named: "id", call)
        return describe(handle, in: call.dataset)
    }

    func deletePlace(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let (id, handle) = try place(named: "id", call)
        let book = call.dataset.places
        try call.checkOwner(book.table.owner(handle), of: "place", id)
        try call.parameters.checkRevision(book.table.revision(handle) ?? "")
        try call.dataset.circumstances.changePlace(id, &turn) { () throws(WireError) in book.remove(id) }
        placeChanged(id, in: call.dataset, &turn)
        turn.keep(.deletePlace(dataset: call.dataset.id, id: id))
        return deleted(id)
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
        let before = categories.map { dataset.places.table.categories[$0.id] }
        let added = zip(categories, before).filter { $0.1 == nil }.count
        guard dataset.places.table.categories.count + added <= configuration.limits.categories else {
            throw WireError(.limit, "the dataset has at most \(configuration.limits.categories) categories", field: "categories")
        }
        try checkShare(ofCategories: added, for: call.client, in: dataset)
        do throws(CategoryError) {
            let result = try dataset.places.table.declare(categories)
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
        let known = call.dataset.places.table.categories[category.id]
        if let known { try call.checkOwner(known.owner, of: "category", category.id) }
        category.owner = known == nil ? call.client.name : known?.owner
        let revision = Revision.next(after: known?.revision, content: category.content())
        category.revision = known?.revision.flatMap { Revision.saysTheSame($0, revision) ? $0 : nil } ?? revision
        return category
    }

    func listCategories(_ call: Call) throws(WireError) -> [UInt8] {
        let page = try Page(call.parameters)
        let categories = call.dataset.places.table.categories.list(after: page.after, limit: page.limit + 1)
        return page.encode("categories", categories, id: \.id, item: { $0.encoded() })
    }

    // MARK: Parts

    func place(named key: String, _ call: Call) throws(WireError) -> (id: String, handle: PlaceTable.Handle) {
        let value = call.parameters.value(key)
        // Numbers are ids in GeoJSON.
        let id = value?.asInt64 == nil ? try call.parameters.id(key) : try PlaceReader.id(value, key)
        guard let handle = call.dataset.places.table.handle(of: id) else {
            throw WireError(.notFound, "there is no place `\(id)`", field: key)
        }
        return (id, handle)
    }

    /// The place with the point it stands for.
    func describe(_ handle: PlaceTable.Handle, in dataset: Dataset) -> [UInt8] {
        let table = dataset.places.table
        let point = table.point(of: handle)
        return JSONWriter.object { writer in
            table.place(handle).encodeMembers(into: &writer)
            writer.member("latitude", point.latitude)
            writer.member("longitude", point.longitude)
        }
    }
}
