import Geodesy

/// Areas in requests: `{"bbox":[w,s,e,n]}`, `{"circle":{"latitude","longitude","radius"}}` or a GeoJSON Polygon.
public enum AreaCoding {
    /// Reads an area. Errors are `invalid` and name `field`, or the way to the member below it.
    public static func decode(_ value: JSONValue, field: String = "within") throws(WireError) -> Area {
        guard let object = value.asObject else { throw error(field, "must be an object, not \(value.shown)") }
        if object["type"] != nil { return .polygon(try polygon(object, field: field)) }
        switch (object["bbox"], object["circle"]) {
        case (let bbox?, nil): return .box(try box(bbox, field: field + ".bbox"))
        case (nil, let circle?): return .circle(try self.circle(circle, field: field + ".circle"))
        default: throw error(field, "must be a `bbox`, a `circle` or a GeoJSON Polygon")
        }
    }

    /// Reads a GeoJSON Polygon geometry.
    public static func polygon(
        _ geometry: JSONObject, field: String, verticesMax: Int = Area.Polygon.verticesMax
    ) throws(WireError) -> Area.Polygon {
        guard geometry["type"]?.asString == "Polygon" else {
            throw error(field + ".type", "must be \"Polygon\", not \((geometry["type"] ?? .null).shown)")
        }
        return try polygon(
            coordinates: geometry["coordinates"] ?? .null, field: field + ".coordinates", verticesMax: verticesMax)
    }

    /// Reads the coordinates of a GeoJSON Polygon: rings of positions `[longitude, latitude, altitude?]`.
    public static func polygon(
        coordinates: JSONValue, field: String, verticesMax: Int = Area.Polygon.verticesMax
    ) throws(WireError) -> Area.Polygon {
        guard let rings = coordinates.asArray else { throw error(field, "must be an array of rings") }
        var vertices: [[Area.Polygon.Vertex]] = []
        for (index, ring) in rings.enumerated() {
            guard let positions = ring.asArray else { throw error(field, "must have rings that are arrays; \(index) is none") }
            vertices.append([])
            for (place, position) in positions.enumerated() {
                guard let numbers = position.asArray, numbers.count >= 2, let longitude = numbers[0].asDouble,
                    let latitude = numbers[1].asDouble
                else { throw error(field, AreaError.position(ring: index, position: place).message) }
                vertices[index].append(Area.Polygon.Vertex(longitude: longitude, latitude: latitude))
            }
        }
        do throws(AreaError) {
            return try Area.Polygon(rings: vertices, verticesMax: verticesMax)
        } catch {
            throw self.error(field, error.message)
        }
    }

    private static func box(_ value: JSONValue, field: String) throws(WireError) -> Area.Box {
        let numbers = value.asArray?.map(\.asDouble) ?? []
        guard numbers.count == 4, let west = numbers[0], let south = numbers[1], let east = numbers[2], let north = numbers[3]
        else { throw error(field, AreaError.box.message) }
        do throws(AreaError) {
            return try Area.Box(west: west, south: south, east: east, north: north)
        } catch {
            throw self.error(field, error.message)
        }
    }

    private static func circle(_ value: JSONValue, field: String) throws(WireError) -> Area.Circle {
        guard let object = value.asObject else { throw error(field, "must be an object, not \(value.shown)") }
        let parameters = Parameters(object, path: field + ".")
        let latitude = try parameters.number("latitude", in: -90...90, unit: "degrees")
        let longitude = try parameters.number("longitude", in: -180...180, unit: "degrees")
        let radius = try parameters.number("radius", in: 0...Area.Circle.radiusMax, unit: "metres")
        do throws(AreaError) {
            return try Area.Circle(latitude: latitude, longitude: longitude, radius: radius)
        } catch {
            throw self.error(field + ".radius", error.message)
        }
    }

    private static func error(_ field: String, _ rule: String) -> WireError {
        WireError(.invalid, "`\(field)` \(rule)", field: field)
    }
}
