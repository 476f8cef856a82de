import Geodesy
import Places
import Wire
import Records

// A place as requests answer with it, the change feed shows it and its revision is made from.

extension Place {
    /// `{"id","name"?,"categoryIds","chainId"?,"openingHours"?,"timeZone"?,"placerank"?,"holidays"?,"geometry","owner"?,"revision"?}`,
    /// without `id` and the braces as far as the caller writes them.
    func encodeMembers(into writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("name", optional: name)
        writer.member("categoryIds", categoryIDs)
        writer.member("chainId", optional: chainID)
        writer.member("openingHours", optional: openingHours)
        writer.member("timeZone", optional: timeZone)
        writer.member("placerank", optional: placerank)
        encodeHolidays(into: &writer)
        writer.key("geometry")
        geometry.encode(into: &writer)
        writer.member("owner", optional: owner)
        writer.member("revision", optional: revision)
    }

    private func encodeHolidays(into writer: inout JSONWriter) {
        guard holidays != .none else { return }
        writer.key("holidays")
        writer.beginObject()
        writer.member("PH", holidays.publicDays)
        writer.key("SH")
        writer.beginArray()
        for days in holidays.schoolRanges {
            writer.beginArray()
            writer.string(days.first)
            writer.string(days.last)
            writer.endArray()
        }
        writer.endArray()
        writer.endObject()
    }

    /// What its revision covers: everything but who wrote it, and the revision itself.
    func content() -> [UInt8] {
        var copy = self
        copy.owner = nil
        copy.revision = nil
        return JSONWriter.object(copy.encodeMembers)
    }
}

extension PlaceGeometry {
    /// As GeoJSON.
    func encode(into writer: inout JSONWriter) {
        writer.beginObject()
        switch self {
        case .point(let latitude, let longitude):
            writer.member("type", "Point")
            writer.key("coordinates")
            Self.encode(Area.Polygon.Vertex(longitude: longitude, latitude: latitude), into: &writer)
        case .polygons(let polygons):
            writer.member("type", polygons.count == 1 ? "Polygon" : "MultiPolygon")
            writer.key("coordinates")
            if polygons.count != 1 { writer.beginArray() }
            for polygon in polygons {
                writer.beginArray()
                for ring in polygon.rings {
                    writer.beginArray()
                    for vertex in ring { Self.encode(vertex, into: &writer) }
                    writer.endArray()
                }
                writer.endArray()
            }
            if polygons.count != 1 { writer.endArray() }
        }
        writer.endObject()
    }

    private static func encode(_ vertex: Area.Polygon.Vertex, into writer: inout JSONWriter) {
        writer.beginArray()
        writer.double(vertex.longitude)
        writer.double(vertex.latitude)
        writer.endArray()
    }
}
