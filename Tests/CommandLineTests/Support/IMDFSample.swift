import CZlib
import Foundation

/// A small IMDF archive: one venue, a building with two levels, and what is in it.
enum IMDFSample {
    private static func feature(_ id: String, _ type: String, _ properties: String, _ geometry: String = "null") -> String {
        #"{"id":"\#(id)","type":"Feature","feature_type":"\#(type)","geometry":\#(geometry),"properties":{\#(properties)}}"#
    }

    private static func square(_ x: Double, _ size: Double = 0.0001) -> String {
        let (west, east) = (7.42 + x, 7.42 + x + size)
        return
            #"{"type":"Polygon","coordinates":[[[\#(west),43.73],[\#(east),43.73],[\#(east),43.7301],[\#(west),43.7301],[\#(west),43.73]]]}"#
    }

    private static func collection(_ name: String, _ features: [String]) -> String {
        #"{"type":"FeatureCollection","name":"\#(name)","features":[\#(features.joined(separator: ",\n"))]}"#
    }

    /// By file name.
    static var files: [String: String] {
        let labels = #""name":{"fr":"Le magasin","en":"Shop"},"alt_name":null"#
        return [
            "manifest.json": #"{"version":"1.0.0","created":"2026-01-01T00:00:00Z","language":"en-US"}"#,
            "venue.geojson": collection(
                "venue", [feature("ve", "venue", #""category":"shoppingcenter","name":{"en":"Mall"}"#, square(0, 0.001))]),
            "building.geojson": collection("building", [feature("bu", "building", #""name":{"en":"North"}"#)]),
            "footprint.geojson": collection(
                "footprint",
                [
                    feature("f1", "footprint", #""category":"aerial","building_ids":["bu"]"#, square(0, 0.0009)),
                    feature("f2", "footprint", #""category":"ground","building_ids":["bu"]"#, square(0, 0.0005)),
                ]),
            "level.geojson": collection(
                "level",
                [
                    feature("l0", "level", #""ordinal":0,"name":{"en":"Ground"},"building_ids":["bu"]"#, square(0, 0.0005)),
                    feature("l1", "level", #""ordinal":1,"name":{"en":"First"},"building_ids":["bu","x"]"#, square(0, 0.0005)),
                ]),
            "unit.geojson": collection(
                "unit",
                [
                    feature("u1", "unit", #""category":"retail",\#(labels),"level_id":"l0""#, square(0)),
                    feature("u2", "unit", #""category":"retail",\#(labels),"level_id":"l0""#, square(0.0001)),
                    feature("u3", "unit", #""category":"walkway","name":null,"level_id":"l1""#, square(0.0002)),
                    feature("u4", "unit", #""category":"opentobelow","name":null,"level_id":"l1""#, square(0.0003)),
                    feature("u5", "unit", #""category":"retail","name":null,"level_id":"nowhere""#, square(0.0003)),
                ]),
            "anchor.geojson": collection(
                "anchor", [feature("an", "anchor", #""unit_id":"u1""#, #"{"type":"Point","coordinates":[7.42005,43.73005]}"#)]),
            "fixture.geojson": collection(
                "fixture", [feature("fi", "fixture", #""category":"furniture","name":null,"level_id":"l0""#, square(0))]),
            "amenity.geojson": collection(
                "amenity",
                [
                    feature(
                        "am", "amenity", #""category":"atm","unit_ids":["u2"]"#, #"{"type":"Point","coordinates":[7.42,43.73]}"#)
                ]),
            "occupant.geojson": collection(
                "occupant", [feature("oc", "occupant", #""name":{"en":"Bakery"},"category":"bakery","anchor_id":"an""#)]),
        ]
    }

    /// The archive as a zip file, in a folder, every other file stored and the rest deflated.
    static func zip(_ files: [String: String] = Self.files) -> [UInt8] {
        var bytes: [UInt8] = []
        var directory: [UInt8] = []
        for (number, file) in files.sorted(by: { $0.key < $1.key }).enumerated() {
            let name = Array("mall/\(file.key)".utf8)
            let content = Array(file.value.utf8)
            let packed = number % 2 == 0 ? content : deflated(content)
            let sizes =
                little(number % 2 == 0 ? 0 : 8, 2) + little(0, 4) + little(Int(crc32(0, content, UInt32(content.count))), 4)
                + little(packed.count, 4) + little(content.count, 4) + little(name.count, 2)
            directory += little(0x0201_4B50, 4) + little(20, 2) + little(20, 2) + little(0, 2) + sizes
            directory += little(0, 2) + little(0, 2) + little(0, 2) + little(0, 2) + little(0, 4) + little(bytes.count, 4) + name
            bytes += little(0x0403_4B50, 4) + little(20, 2) + little(0, 2) + sizes + little(0, 2) + name + packed
        }
        let start = bytes.count
        bytes += directory
        bytes += little(0x0605_4B50, 4) + little(0, 4) + little(files.count, 2) + little(files.count, 2)
        return bytes + little(directory.count, 4) + little(start, 4) + little(0, 2)
    }

    private static func little(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    /// Raw deflate: a zlib stream without its frame.
    private static func deflated(_ content: [UInt8]) -> [UInt8] {
        var count = compressBound(UInt(content.count))
        var packed = [UInt8](repeating: 0, count: Int(count))
        compress2(&packed, &count, content, UInt(content.count), 9)
        return Array(packed[2..<(Int(count) - 4)])
    }
}
