import Foundation
import Wire

/// Files of any size as requests that are small enough, one after the other.
struct PlaceRequests {
    struct Request {
        var resource: String
        /// Without `requestId`: the members of the object, with a comma before each.
        var parameters: [UInt8]
        var placeCount: Int { numbers.count }
        /// Which feature of the input each of them is.
        var numbers: [Int] = []
        /// Bytes of the input that are behind it.
        var bytesRead = 0
    }

    struct Options {
        /// The features carry OpenStreetMap's tags.
        var isOSM = false
        /// For places that name none.
        var timeZone: String?
    }

    /// As it is sent, and which one of the input it is.
    private struct Feature {
        var bytes: [UInt8]
        var number: Int
    }

    private let options: Options
    private var readers: [FeatureReader]
    private let parser = JSONParser()
    private var knownCategories: Set<String> = []
    private var waiting: Feature?
    private var brands = OSMBrands()
    /// Places whose brand's item another place may name.
    private var held = HeldPlaces()
    /// Not yet in a request.
    private var freshCategories: [OSMPlace.Category] = []
    private var ready: [Request] = []
    private var bytesBefore = 0
    /// Features that were read so far.
    private var featureCount = 0

    /// Features that never were sent: `{"id","error"}` each, as the daemon reports those it refuses.
    private(set) var unreadable: [JSONValue] = []
    private(set) var unreadableCount = 0
    /// Features without a tag that makes them a place.
    private(set) var leftOutCount = 0

    /// With the frame, a request stays below 256 KiB.
    static let featuresBytesMax = FeatureReader.featureBytesMax
    private static let unreadableMax = 1000
    private static let categoriesMax = 1000

    init(_ readers: [FeatureReader], _ options: Options) {
        self.readers = readers
        self.options = options
    }

    /// The next request; nil behind the last one. Categories go before the places that name them.
    mutating func next() throws(FeatureReader.Failure) -> Request? {
        if !ready.isEmpty { return ready.removeFirst() }
        var features: [UInt8] = []
        var numbers: [Int] = []
        while freshCategories.count < Self.categoriesMax, let feature = try feature() {
            guard features.count + feature.bytes.count < Self.featuresBytesMax || features.isEmpty else {
                waiting = feature
                break
            }
            if !features.isEmpty { features.append(UInt8(ascii: ",")) }
            features += feature.bytes
            numbers.append(feature.number)
        }
        guard !numbers.isEmpty else { return nil }
        let bytesRead = bytesBefore + (readers.first?.bytesRead ?? 0)
        let places = Request(
            resource: "place", parameters: Self.parameters("places", features: features), numbers: numbers, bytesRead: bytesRead)
        guard !freshCategories.isEmpty else { return places }
        defer { freshCategories.removeAll() }
        ready.append(places)
        return Request(resource: "category", parameters: Self.parameters("categories", freshCategories.map(\.object)))
    }

    /// One feature as it is sent; nil where there are no more.
    private mutating func feature() throws(FeatureReader.Failure) -> Feature? {
        if let feature = waiting {
            waiting = nil
            return feature
        }
        while let reader = readers.first {
            guard let element = try reader.next() else {
                bytesBefore += reader.bytesRead
                readers.removeFirst()
                continue
            }
            featureCount += 1
            switch element {
            case .tooLong(let bytes): refuse(Self.tooLarge(bytes))
            case .feature(let bytes):
                if let bytes = take(bytes) { return Feature(bytes: bytes, number: featureCount - 1) }
                if held.isFull, let feature = release() { return feature }
            }
        }
        return release()
    }

    /// The next of the places that were held, with the chain that is known by now.
    private mutating func release() -> Feature? {
        guard let place = held.popFirst() else { return nil }
        var joined = place
        if let brand = place.brand, let item = brands.item(of: brand) { joined.chainID = item }
        let feature = zoned(joined.feature).serialised()
        let isFitting = feature.count <= Self.featuresBytesMax
        return Feature(bytes: isFitting ? feature : zoned(place.feature).serialised(), number: place.number)
    }

    private mutating func take(_ bytes: [UInt8]) -> [UInt8]? {
        guard options.isOSM || options.timeZone != nil else {
            do throws(WireError) {
                try bytes.withUnsafeBufferPointer { bytes throws(WireError) in
                    try parser.parse(UnsafeRawBufferPointer(bytes), padded: false) { _ throws(WireError) in }
                }
                return bytes
            } catch {
                refuse(error)
                return nil
            }
        }
        do throws(JSONError) {
            let value = try JSONValue.parse(bytes, using: parser)
            guard options.isOSM else { return fitting(value) }
            guard var place = OSMPlace(value) else {
                leftOutCount += 1
                return nil
            }
            place.number = featureCount - 1
            return take(place, bytes: bytes.count)
        } catch {
            refuse(WireError(error))
            return nil
        }
    }

    private mutating func take(_ place: OSMPlace, bytes: Int) -> [UInt8]? {
        freshCategories += place.categories.filter { knownCategories.insert($0.id).inserted }
        held.drop(place.id)
        if let brand = place.brand {
            guard let item = place.brandItem else {
                // One that is too long is refused while it is the one that was read last.
                guard fitting(place.feature) != nil else { return nil }
                held.append(place, bytes: bytes)
                return nil
            }
            brands.learn(brand, item: item)
        }
        return fitting(place.feature)
    }

    /// As it is sent; nil where it is too long for that.
    private mutating func fitting(_ value: JSONValue) -> [UInt8]? {
        let feature = zoned(value).serialised()
        guard feature.count <= Self.featuresBytesMax else {
            refuse(Self.tooLarge(feature.count))
            return nil
        }
        return feature
    }

    private func zoned(_ value: JSONValue) -> JSONValue {
        guard let timeZone = options.timeZone, case .object(var feature) = value else { return value }
        var properties = feature["properties"]?.asObject ?? JSONObject()
        if properties["timeZone"] ?? .null == .null { properties["timeZone"] = .string(timeZone) }
        feature["properties"] = .object(properties)
        return .object(feature)
    }

    /// Refuses the feature that was read last. What it calls itself is not known, so its position in the input is reported.
    private mutating func refuse(_ error: WireError) {
        unreadableCount += 1
        guard unreadable.count < Self.unreadableMax else { return }
        var error = error
        error.message += Self.mark + "\(featureCount - 1))"
        var writer = JSONWriter()
        error.encode(into: &writer)
        unreadable.append(["id": .null, "error": (try? JSONValue.parse(writer.bytes)) ?? .null])
    }

    /// A refusal of a feature without an id: the daemon reports its position in the request, and people look for it in their files.
    static func located(_ refusal: JSONValue, in request: Request) -> JSONValue {
        guard refusal.member("id") ?? .null == .null, case .object(var outer) = refusal,
            case .object(var error)? = outer["error"],
            let message = error["message"]?.asString, message.hasSuffix(")"),
            let start = message.range(of: Self.mark, options: .backwards),
            let place = Int(message[start.upperBound...].dropLast()), request.numbers.indices.contains(place)
        else { return refusal }
        error["message"] = .string(message[..<start.upperBound] + "\(request.numbers[place]))")
        outer["error"] = .object(error)
        return .object(outer)
    }

    private static let mark = " (feature "

    private static func tooLarge(_ bytes: Int) -> WireError {
        WireError(.tooLarge, "a feature of \(bytes) bytes does not fit into a request of 256 KiB")
    }

    private static func parameters(_ key: String, features: [UInt8]) -> [UInt8] {
        Array(#","\#(key)":{"type":"FeatureCollection","features":["#.utf8) + features + Array("]}".utf8)
    }

    private static func parameters(_ key: String, _ values: [JSONValue]) -> [UInt8] {
        Array(",\"\(key)\":".utf8) + JSONValue.array(values).serialised()
    }
}
