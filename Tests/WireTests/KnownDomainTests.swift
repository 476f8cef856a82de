import Testing

@testable import Wire

@Suite("Known domains")
struct KnownDomainTests {
    @Test("What a property is published as is what the reader of updates makes of it")
    func publishedNames() throws {
        for (sent, published) in KnownDomain.publishedNames {
            var object: JSONObject = published == "nrOfPeople" ? [:] : ["latitude": 1, "longitude": 2]
            object[published] = nil
            object[sent] = 3
            let domain = published == "nrOfPeople" ? KnownDomain.occupancy : .position
            var properties: [UInt8] = []
            _ = try LiveUpdateDecoder().decode(
                JSONValue.object(object).serialised(), domain: domain.rawValue, properties: &properties)
            #expect(try JSONValue.parse(properties).asObject?[published] == 3, "\(sent)")
            #expect(domain.propertyNames.contains(published))
        }
    }

    @Test(
        "A property is meant by what is spelled nearly so, or by a name that devices may send",
        arguments: [
            ("latitde", nil, "latitude"), ("Latitude", nil, "latitude"), ("accuracy", nil, "horizontalAccuracy"),
            ("nrOfPeple", .occupancy, "nrOfPeople"), ("numberOfPeople", .occupancy, "nrOfPeople"),
            ("nrOfPeple", .position, nil), ("lat", .occupancy, nil), ("latitude", .occupancy, nil), ("level", nil, nil),
        ] as [(String, KnownDomain?, String?)])
    func meant(name: String, domain: KnownDomain?, property: String?) {
        #expect(KnownDomain.property(meantBy: name, in: domain.map { [$0] } ?? KnownDomain.allCases) == property)
    }
}
