import Wire

/// Files of any size as requests that are small enough, one after the other.
struct PlaceRequests {
    struct Request {
        var resource: String
        /// Without `requestId`: the members of the object, with a comma before each.
        var parameters: [UInt8]
        var placeCount = 0
        /// Bytes of the input that are behind it.
        var bytesRead = 0
    }

    struct Options {
        /// The features carry OpenStreetMap's tags.
        var isOSM = false
        /// For places that name none.
        var timeZone: String?
    }

    private let options: Options
    private var readers: [FeatureReader]
    private let parser = JSONParser()
    private var knownCategories: Set<String> = []
    private var waiting: [UInt8]?
    private var brands = OSMBrands()
    /// Places whose brand's item another place may tell.
    private var held = HeldPlaces()
    /// Not yet in a request.
    private var freshCategories: [OSMPlace.Category] = []
    private var ready: [Request] = []
    private var bytesBefore = 0
    /// Features that were read so far.
    private var featureCount = 0

    /// Features that never were sent: `{"id","error"}` each, as the daemon tells of those it refuses.
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
        var count = 0
        while freshCategories.count < Self.categoriesMax, let feature = try feature() {
            guard features.count + feature.count < Self.featuresBytesMax || features.isEmpty else {
                waiting = feature
                break
            }
            if !features.isEmpty { features.append(UInt8(ascii: ",")) }
            features += feature
            count += 1
        }
        guard count > 0 else { return nil }
        let bytesRead = bytesBefore + (readers.first?.bytesRead ?? 0)
        let places = Request(
            resource: "place", parameters: Self.parameters("places", features: features), placeCount: count, bytesRead: bytesRead)
        guard !freshCategories.isEmpty else { return places }
        defer { freshCategories.removeAll() }
        ready.append(places)
        return Request(resource: "category", parameters: Self.parameters("categories", freshCategories.map(\.object)))
    }

    /// One feature as it is sent; nil where there are no more.
    private mutating func feature() throws(FeatureReader.Failure) -> [UInt8]? {
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
                if let feature = take(bytes) { return feature }
                if held.isFull, let feature = release() { return feature }
            }
        }
        return release()
    }

    /// The next of the places that were held, with the chain that is known by now.
    private mutating func release() -> [UInt8]? {
        while var place = held.popFirst() {
            if let brand = place.brand, let item = brands.item(of: brand) { place.chainID = item }
            if let feature = fitting(place.feature) { return feature }
        }
        return nil
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
            guard let place = OSMPlace(value) else {
                leftOutCount += 1
                return nil
            }
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

    /// Refuses the feature that was read last. What it calls itself is not known, so its place among all is told.
    private mutating func refuse(_ error: WireError) {
        unreadableCount += 1
        guard unreadable.count < Self.unreadableMax else { return }
        var error = error
        error.message += " (feature \(featureCount - 1))"
        var writer = JSONWriter()
        error.encode(into: &writer)
        unreadable.append(["id": .null, "error": (try? JSONValue.parse(writer.bytes)) ?? .null])
    }

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
