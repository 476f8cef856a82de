import OpeningHours
import Places
import Wire
import Records

// Places and categories that were made offline: one document each, by the checks of their imports.

extension Hub {
    func pushPlace(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        var reader = PlaceReader { Zone.named($0) != nil }
        var place = try reader.place(.object(call.parameters.object))
        let table = call.dataset.places.table
        let before = table[place.id]
        if let before { try call.checkOwner(before.owner, of: "place", place.id) }
        place.owner = before == nil ? call.owner : before?.owner
        place.revision = call.revision(after: before?.revision, content: place.content())
        guard before != nil || table.count < configuration.limits.places else {
            throw WireError(.limit, "there are \(configuration.limits.places) places, which is the maximum")
        }
        if before == nil { try checkShare(ofPlaces: table.count(ownedBy: call.client.name), for: call.client, in: call.dataset) }
        if !call.endsBeforeEffects {
            call.dataset.circumstances.activate(at: call.now)
            try call.dataset.circumstances.changePlace(place.id, &turn) { () throws(WireError) in
                do throws(PlaceError) {
                    try table.upsert(place)
                } catch {
                    throw WireError(error)
                }
            }
            placeChanged(place.id, in: call.dataset, &turn)
            turn.keep(.put(PlaceRecord(dataset: call.dataset.id, place: place)))
        }
        return JSONWriter.object(place.encodeMembers)
    }

    func pushCategory(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        var category = try CategoryReader.category(.object(call.parameters.object))
        let table = call.dataset.places.table
        let before = table.categories[category.id]
        if let before { try call.checkOwner(before.owner, of: "category", category.id) }
        category.owner = before == nil ? call.owner : before?.owner
        category.revision = call.revision(after: before?.revision, content: category.content())
        guard before != nil || table.categories.count < configuration.limits.categories else {
            throw WireError(.limit, "the dataset has at most \(configuration.limits.categories) categories")
        }
        try checkShare(ofCategories: before == nil ? 1 : 0, for: call.client, in: call.dataset)
        if !call.endsBeforeEffects {
            do throws(CategoryError) {
                _ = try table.declare([category])
            } catch {
                throw WireError(.invalid, error.message, field: "parentId")
            }
            turn.keep(.put(CategoryRecord(dataset: call.dataset.id, category: category)))
            call.dataset.circumstances.worldChanged()
        }
        return category.encoded()
    }
}
