import OpeningHours
import Places
import Wire
import Records

// Places and categories that were made offline: one document each, by the checks of their imports.

extension PlaceBook {
    func pushPlace(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        var reader = PlaceReader { Zone.named($0) != nil }
        var place = try reader.place(.object(call.parameters.object))
        let before = table[place.id]
        if let before { try call.checkOwner(before.owner, of: "place", place.id) }
        place.owner = before == nil ? call.owner : before?.owner
        place.revision = call.revision(after: before?.revision, content: place.content())
        if before == nil {
            try checkRoom()
            try call.dataset.checkShare(ofPlaces: table.count(ownedBy: call.client.name), for: call.client)
        }
        if !call.endsBeforeEffects {
            call.dataset.circumstances.activate(at: call.now)
            try call.dataset.circumstances.changePlace(place.id, &turn) { () throws(WireError) in
                do throws(PlaceError) {
                    try table.upsert(place)
                } catch {
                    throw WireError(error)
                }
            }
            call.dataset.geofences.placeChanged(place.id, &turn)
            turn.keep(.put(PlaceRecord(dataset: call.dataset.id, place: place)))
        }
        return JSONWriter.object(place.encodeMembers)
    }

    func pushCategory(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        var category = try CategoryReader.category(.object(call.parameters.object), isFree: true)
        let before = table.categories[category.id]
        if let before { try call.checkOwner(before.owner, of: "category", category.id) }
        category.owner = before == nil ? call.owner : before?.owner
        category.revision = call.revision(after: before?.revision, content: category.content())
        guard before != nil || table.categories.count < call.limits.categories else {
            throw WireError(.limit, "the dataset has at most \(call.limits.categories) categories")
        }
        try call.dataset.checkShare(ofCategories: before == nil ? 1 : 0, for: call.client)
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
