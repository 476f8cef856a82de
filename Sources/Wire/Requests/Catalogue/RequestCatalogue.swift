/// What each request takes. The table of requests says who carries it out; this says what may be in it.
public enum RequestCatalogue {
    public static let all: [RequestDescription] =
        datasets + keys + structure + devices + geofences + publications + subscriptions + matches + live + beacons + places
        + circumstances + changes + push + cluster

    public static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// The name that was meant by one that no request has: in others' words, or mistyped.
    public static func nearest(to name: String) -> String? {
        let parts = name.split(separator: "/", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { return Nearness.nearest(to: name, of: all.map(\.name)) }
        let resources = all.map { String($0.resource) }
        if let resource = resources.contains(parts[0]) ? parts[0] : otherWord(parts[0], of: otherResources) {
            let names = ([parts[1]] + (otherVerbs[parts[1]] ?? [])).map { "\(resource)/\($0)" }
            if let meant = names.first(where: { byName[$0] != nil }) { return meant }
        }
        if let near = Nearness.nearest(to: name, of: all.map(\.name)) { return near }
        // `devices/list`, `device/creat`: each half by itself.
        guard let resource = Nearness.nearest(to: parts[0], of: resources) else { return nil }
        let verbs = all.filter { $0.resource == resource }.map { String($0.verb) }
        return Nearness.nearest(to: parts[1], of: verbs).map { "\(resource)/\($0)" }
    }

    /// What others call our resources, and what they do with them.
    private static let otherResources = [
        "venue": "structure", "building": "structure", "floor": "structure", "room": "structure", "fence": "geofence",
        "zone": "geofence", "rule": "circumstance", "poi": "place", "feed": "changes",
    ]
    private static let otherVerbs = [
        "create": ["register", "subscribe"], "add": ["create", "register"], "delete": ["unregister", "unsubscribe"],
        "remove": ["delete", "unregister"], "show": ["get"],
    ]

    /// - Parameter word: In singular or plural.
    private static func otherWord(_ word: String, of words: [String: String]) -> String? {
        words[word] ?? (word.hasSuffix("s") ? words[String(word.dropLast())] : nil)
    }

    // MARK: What several have in common

    private static let id = RequestField("id", "an id: 1–128 bytes, not `-`", required: true, limits: .id)
    private static let newID = RequestField("id", "an id: 1–128 bytes, not `-`; default: a new UUID", limits: .id)
    private static let deviceID = RequestField("deviceId", "the id of a device", required: true, limits: .id)
    private static let revision = RequestField(
        "revision", "the revision that was read: another one by now is a conflict; default: the last writer wins",
        limits: .characters(1...128))
    private static let page = [
        RequestField("limit", "1…1000 entries; default 1000", limits: .atLeast(1)),
        RequestField("after", "the `next` of the page before", limits: .characters(1...256)),
    ]
    /// Of lists whose places have many levels.
    private static let longPage = [page[0], RequestField("after", page[1].takes, limits: .characters(1...4096))]
    private static let topic = RequestField("topic", "1–256 bytes, compared as they are", required: true, limits: .bytes(1...256))
    private static let range = RequestField(
        "range", "1…5000 metres around the device", required: true, limits: .numbers(1...5000))
    private static let duration = RequestField(
        "duration", "seconds from now, or with a unit on the command line: 90s, 15min, 1h, 7d; 0 compares once", required: true,
        limits: .atLeast(0))
    /// Of what exists already.
    private static let lasting = RequestField(
        duration.name, "seconds since its creation, as for create; 0 ends it", limits: .atLeast(0))
    private static let major = RequestField("major", "0…65535", limits: .numbers(0...65_535))
    private static let minor = RequestField("minor", "0…65535", limits: .numbers(0...65_535))
    private static let uuid = RequestField("proximityUUID", "the UUID of a beacon", aliases: ["proximityID", "uuid"])
    private static let area: RequestField.Content = .area([
        RequestField("bbox", "[west, south, east, north]", limits: .entries(4...4)),
        RequestField(
            "circle", "latitude, longitude and radius in metres",
            .object([
                RequestField("latitude", "degrees", limits: .numbers(-90...90)),
                RequestField("longitude", "degrees", limits: .numbers(-180...180)), RequestField("radius", "metres"),
            ])),
    ])
    private static let within = RequestField(
        "within", "{\"bbox\":[w,s,e,n]}, {\"circle\":{\"latitude\",\"longitude\",\"radius\"}} or a GeoJSON Polygon", area)
    private static let criteria = RequestField(
        "criteria", "a live topic with + and #, or an object of levels; DATASET/# is all", required: true)
    private static let condition = RequestField("where", "a selector over the properties of updates")
    private static let lease = RequestField(
        "lease", "seconds until it ends unless it is renewed, 1…86400; default 3600", limits: .numbers(1...86_400))

    private static func optional(_ fields: [RequestField]) -> [RequestField] {
        fields.map { RequestField($0.name, $0.takes, $0.content, aliases: $0.aliases, limits: $0.limits) }
    }

    // MARK: Datasets

    private static let datasetFields = [
        RequestField("name", "at most 256 characters", limits: .characters(0...256)),
        RequestField(
            "policy", "open or strict: whether undeclared levels are taken; default open", limits: .words(["open", "strict"])),
        RequestField("domains", "at most 256 names: the only ones a strict dataset takes", limits: .entries(0...256)),
        RequestField("autoCreateDevices", "true or false: a first position creates its device; default true"),
        RequestField("derivedOccupancy", "true or false: the occupancy of rooms is counted; default false"),
        RequestField("timeZone", "an IANA time zone; default UTC", limits: .characters(1...64)),
        RequestField(
            "livePositions", "all or none: with none only the owners of devices and administrators see positions; default all",
            limits: .words(["all", "none"])),
    ]

    private static let datasets = [
        RequestDescription(
            "dataset/create", "Create the dataset of the topic (administrators).", datasetFields,
            example: "--client admin --dataset museum dataset create timeZone=Europe/Paris"),
        RequestDescription("dataset/get", "Show the dataset with its counts.", [], example: "dataset get"),
        RequestDescription(
            "dataset/update", "Change settings of the dataset (administrators).", datasetFields + [revision],
            example: "--client admin dataset update derivedOccupancy=true"),
        RequestDescription(
            "dataset/list", "List all datasets (administrators).", page, example: "--client admin dataset list"),
        RequestDescription(
            "dataset/delete", "Delete the dataset with all it holds (administrators).", [revision],
            example: "--client admin --dataset museum dataset delete"),
        RequestDescription(
            "dataset/watch", "Stream status and diagnostics of the dataset to the socket.", [], example: "dataset watch"),
        RequestDescription(
            "dataset/import", "Import venues, buildings, floors, rooms and locations (administrators).",
            [RequestField("structure", "a GeoJSON FeatureCollection", required: true)],
            example: "--client admin dataset import structure:=\"$(cat building.geojson)\""),
    ]

    // MARK: Keys

    private static let keys = [
        RequestDescription(
            "key/create", "Make a key with which a client may use HTTP (administrators). It is shown this once.",
            [
                RequestField("client", "the client that it stands for", required: true),
                RequestField(
                    "dataset", "the only dataset that it is good for; default: this one; * for all (administrators of all)"),
                RequestField("name", "at most 256 characters, for people; default: the client", limits: .characters(1...256)),
                RequestField(
                    "expiresIn", "seconds for which it is good, 1…3153600000; default: until it is deleted",
                    limits: .numbers(1...3_153_600_000)),
            ], example: "--client admin key create client=guide-1 expiresIn=30d"),
        RequestDescription(
            "key/list", "List the keys of the dataset (administrators).", page, example: "--client admin key list"),
        RequestDescription(
            "key/delete", "Delete a key: what is connected with it is cut off (administrators).", [id],
            example: "--client admin key delete 42622069-f5c3-450d-80cd-49a9d0049c92"),
    ]

    // MARK: Structure

    private static let level = RequestField(
        "level", "venue, building, floor, room or location", limits: .words(["venue", "building", "floor", "room", "location"]))
    private static let parents = RequestField(
        "parents", "the levels above: {\"venue\":\"v\",\"building\":\"b\"} or [\"v\",\"b\"]; default: any")
    private static let structureObject = [
        RequestField(level.name, level.takes, required: true, limits: level.limits), id, parents,
    ]

    private static let structure = [
        RequestDescription(
            "structure/list", "List venues, buildings, floors, rooms and locations.",
            [level, parents, RequestField("outlines", "true or false: with their outlines; default false")] + longPage,
            example: "structure list level=room"),
        RequestDescription(
            "structure/get", "Show one of them with its outline.", structureObject,
            example: "structure get level=building id=main parents.venue=hq"),
        RequestDescription(
            "structure/delete", "Delete one of them with everything below it (administrators).", structureObject,
            example: "--client admin structure delete level=building id=main parents.venue=hq"),
    ]

    // MARK: Devices

    private static let deviceFields = [
        RequestField("name", "at most 256 characters", limits: .characters(0...256)),
        RequestField("platform", "at most 256 characters", limits: .characters(0...256)),
        RequestField("group", "at most 25 names of 1–25 of A-Z a-z 0-9 _", limits: .entries(0...25)),
        RequestField("deviceToken", "at most 4096 characters", limits: .characters(0...4096)),
        RequestField("location", "{\"latitude\",\"longitude\",…}: what a live position has; required for a PinDevice"),
        RequestField(
            "carries", "the beacon a MobileDevice carries: {\"uuid\",\"major\",\"minor\"}, or null",
            .object([uuid, major, minor])),
        RequestField(
            "ranging", "how it ranges beacons: {\"n\":1…6, \"rssiOffset\":−60…60 dB, \"filter\":trimmedMean|kalman|none}",
            .object([
                RequestField("n", "1…6", limits: .numbers(1...6)),
                RequestField("rssiOffset", "−60…60 dB", limits: .numbers(-60...60)),
                RequestField("filter", "trimmedMean, kalman or none", limits: .words(["trimmedMean", "kalman", "none"])),
                RequestField("map", "a radio map, as `geomatch beacons calibrate` makes it, or null", limits: .bytes(0...16_384)),
            ])),
        RequestField(
            "orientation",
            "how it hangs, for the angles it sends: {\"heading\":degrees from north,\"tilt\":−90…90 upwards}, or null",
            .object([
                RequestField("heading", "−360…360 degrees", limits: .numbers(-360...360)),
                RequestField("tilt", "−90…90 degrees", limits: .numbers(-90...90)),
            ])),
    ]

    private static let devices = [
        RequestDescription(
            "device/create", "Create a device.",
            [
                RequestField(
                    "deviceType", "MobileDevice, PinDevice or IBeaconDevice", required: true,
                    limits: .words(["MobileDevice", "PinDevice", "IBeaconDevice"])), newID,
            ] + deviceFields
                + [
                    uuid, major, minor,
                    RequestField("type", "gbeacon instead of deviceType: an IBeaconDevice", limits: .words(["gbeacon"])),
                ],
            example: "device create deviceType=PinDevice id=cafe location.latitude=43.73 location.longitude=7.42"),
        RequestDescription("device/get", "Show a device.", [id], example: "device get cafe"),
        RequestDescription(
            "device/list", "List your devices.",
            [
                RequestField(
                    "deviceType", "MobileDevice, PinDevice or IBeaconDevice",
                    limits: .words(["MobileDevice", "PinDevice", "IBeaconDevice"]))
            ] + page, example: "device list --all"),
        RequestDescription(
            "device/update", "Change a device.", [id] + deviceFields + [revision], example: "device update cafe name=Café"),
        RequestDescription(
            "device/delete", "Delete a device with its publications and subscriptions.", [id, revision],
            example: "device delete cafe"),
        RequestDescription(
            "device/geofences", "List your geofences that a device is inside of.", [deviceID] + page,
            example: "device geofences deviceId=phone"),
        RequestDescription(
            "device/forget", "Erase where a device was and what it met; the device stays.", [id], example: "device forget phone"),
    ]

    // MARK: Geofences

    private static let fenceArea = RequestField(
        "area",
        """
        {"circle":{"latitude","longitude","radius"}}, {"bbox":[w,s,e,n]}, a GeoJSON Polygon or MultiPolygon, {"place":ID}, \
        {"structure":{"venue","building","floor","room"}} or {"around":DEVICE,"radius"}
        """,
        .area([
            RequestField("bbox", "[west, south, east, north]", limits: .entries(4...4)),
            RequestField(
                "circle", "latitude, longitude and radius in metres, 1…1000000",
                .object([
                    RequestField("latitude", "degrees", limits: .numbers(-90...90)),
                    RequestField("longitude", "degrees", limits: .numbers(-180...180)), RequestField("radius", "metres"),
                ])),
            RequestField("place", "the id of a place with an outline"),
            RequestField(
                "structure", "the levels of an object with an outline",
                .object(["venue", "building", "floor", "room"].map { RequestField($0, "an id") })),
            RequestField("around", "the id of a device that it moves with", limits: .id),
            RequestField("radius", "metres around that device, 1…1000000", limits: .numbers(1...1_000_000)),
        ]))
    private static let pushers = RequestField(
        "pushers",
        """
        at most 16 of mqtt:TOPIC, https://…, http://…, apns://TOKEN, fcm://TOKEN (without token: the device's), \
        {"webpush":{"endpoint","keys":{"p256dh","auth"}}}; default none
        """, limits: .entries(0...16))
    private static let notification = RequestField(
        "notification",
        "{\"title\",\"body\"} of push messages, with {properties.NAME}, {distance}, {topic} and {device} filled in",
        .object([
            RequestField("title", "at most 256 characters", limits: .characters(0...256)),
            RequestField("body", "at most 4096 characters", limits: .characters(0...4096)),
        ]))

    private static let fenceFields = [
        RequestField("name", "at most 256 characters", limits: .characters(0...256)),
        RequestField(
            "devices", "at most 1000 ids, ids with a * at their end, or groups; default: yours and ownerless ones",
            limits: .entries(0...1000)),
        RequestField(
            "exitMargin", "0…100000 metres beyond the edge at which a visit ends; default 10", limits: .numbers(0...100_000)),
        RequestField("dwell", "seconds after which a visit is reported as dwelled; default 0: never", limits: .atLeast(0)),
        RequestField(
            "staleAfter", "seconds without a position after which a visit ends as lost; default: never", limits: .above(0)),
        RequestField(
            "accuracy", "likely, centre, possible or certain; default likely",
            limits: .words(["likely", "centre", "possible", "certain"])),
        RequestField("floor", "any or same; default any", limits: .words(["any", "same"])),
        pushers,
        RequestField("secret", "1–1024 bytes that webhooks are signed with; write-only", limits: .bytes(1...1024)),
        notification,
        RequestField("enabled", "true or false; default true"),
    ]

    /// One's own, or `{client}/{id}` for administrators.
    private static let fenceID = RequestField(id.name, id.takes, required: true, limits: .bytes(1...256))

    private static let geofences = [
        RequestDescription(
            "geofence/create", "Create a geofence.",
            [RequestField(fenceArea.name, fenceArea.takes, required: true, fenceArea.content), newID] + fenceFields,
            example:
                "geofence create id=home name=Home area.circle.latitude=43.73 area.circle.longitude=7.42 area.circle.radius=100"),
        RequestDescription("geofence/get", "Show a geofence.", [fenceID], example: "geofence get home"),
        RequestDescription("geofence/list", "List your geofences.", page, example: "geofence list"),
        RequestDescription(
            "geofence/update", "Change a geofence.", [fenceID, fenceArea] + fenceFields + [revision],
            example: "geofence update home dwell=300"),
        RequestDescription("geofence/delete", "Delete a geofence.", [fenceID, revision], example: "geofence delete home"),
        RequestDescription(
            "geofence/inside", "List the devices inside of a geofence.", [fenceID] + page, example: "geofence inside home"),
        RequestDescription(
            "geofence/explain", "Say why a device is or is not inside of a geofence.", [fenceID, deviceID],
            example: "geofence explain home deviceId=phone"),
    ]

    // MARK: Publications, subscriptions, matches

    private static let properties = RequestField("properties", "at most 64 texts, numbers, booleans, or arrays of those")

    private static let publications = [
        RequestDescription(
            "publication/create", "Publish something around a device.", [deviceID, topic, range, duration, newID, properties],
            example: "publication create deviceId=cafe topic=coffee range=50 duration=1h properties.price=3"),
        RequestDescription("publication/get", "Show a publication.", [id], example: "publication get offer"),
        RequestDescription(
            "publication/list", "List the publications of a device.", [deviceID] + page,
            example: "publication list deviceId=cafe"),
        RequestDescription(
            "publication/update", "Change a publication.",
            [id] + optional([topic, range, lasting, properties, deviceID]) + [revision],
            example: "publication update offer properties.price=2"),
        RequestDescription("publication/delete", "Delete a publication.", [id, revision], example: "publication delete offer"),
    ]

    private static let subscriptionFields = [
        RequestField(
            "selector", "a condition over properties, at most 4096 characters: price < 5 AND kind = 'tea'; default: all",
            limits: .characters(0...4096)),
        RequestField("mode", "once or visit; default once", limits: .words(["once", "visit"])),
        RequestField(
            "matchTTL", "mode once: seconds after which the same pair may match again; default its duration", limits: .atLeast(0)),
        RequestField(
            "matchDTL", "mode once: metres to move before the same pair matches again; default 2 × range", limits: .atLeast(0)),
        RequestField(
            "exitMargin", "mode visit: 0…100000 metres beyond the reach at which a visit ends; default 10",
            limits: .numbers(0...100_000)),
        RequestField("dwell", "mode visit: seconds in range before a visit begins; default 0", limits: .atLeast(0)),
        RequestField(
            "staleAfter", "mode visit: seconds without news after which a visit ends; default never", limits: .above(0)),
        RequestField(
            "accuracy", "centre, possible, certain or, with mode visit, likely; default centre",
            limits: .words(["centre", "possible", "certain", "likely"])),
        RequestField("floor", "any or same; default any", limits: .words(["any", "same"])),
        RequestField("excludeSelf", "true or false: a device does not match itself; default false"),
        pushers,
        RequestField("secret", "1–1024 bytes that webhooks are signed with", limits: .bytes(1...1024)),
        RequestField("homeAssistant", "true or false: Home Assistant discovers its matches as an event; default false"),
        notification,
    ]

    private static let subscriptions = [
        RequestDescription(
            "subscription/create", "Subscribe to publications near a device.",
            [deviceID, topic, range, duration, newID] + subscriptionFields,
            example: "subscription create id=thirsty deviceId=phone topic=coffee range=50 duration=1h selector='price < 5'"),
        RequestDescription(
            "subscription/get", "Show a subscription with its delivery counters and hints.", [id],
            example: "subscription get thirsty"),
        RequestDescription(
            "subscription/list", "List the subscriptions of a device.", [deviceID] + page,
            example: "subscription list deviceId=phone"),
        RequestDescription(
            "subscription/update", "Change a subscription.",
            [id] + optional([topic, range, lasting, deviceID]) + subscriptionFields + [revision],
            example: "subscription update thirsty mode=visit exitMargin=20"),
        RequestDescription(
            "subscription/delete", "Delete a subscription.", [id, revision], example: "subscription delete thirsty"),
    ]

    private static let matches = [
        RequestDescription("match/get", "Show a match.", [id], example: "match get 42622069-f5c3-450d-80cd-49a9d0049c92"),
        RequestDescription(
            "match/list", "List the newest matches of a subscribing device.", [deviceID] + page,
            example: "match list deviceId=phone"),
        RequestDescription(
            "match/explain", "Say why two did or did not match.",
            [
                RequestField("publicationId", "the id of a publication", required: true, limits: .id),
                RequestField("subscriptionId", "the id of a subscription", required: true, limits: .id),
            ], example: "match explain publicationId=offer subscriptionId=thirsty"),
        RequestDescription(
            "match/watch", "Stream the matches of all clients to the socket (administrators).", [],
            example: "match watch"),
    ]

    // MARK: Live data

    private static let live = [
        RequestDescription(
            "live/subscribe", "Follow live data by criteria.",
            [
                criteria, condition, within,
                RequestField(
                    "minInterval", "minimum interval per topic in milliseconds; intermediate updates are skipped; default 0",
                    limits: .numbers(0...86_400_000)),
                RequestField("qos", "0 or 1; default 0", limits: .numbers(0...1)),
                RequestField("snapshot", "true or false: known state first; default true"),
                lease, newID,
            ], example: "live subscribe id=second criteria.floor=2 minInterval=1000"),
        RequestDescription("live/renew", "Renew the lease of a live subscription.", [id, lease], example: "live renew second"),
        RequestDescription("live/unsubscribe", "End a live subscription.", [id], example: "live unsubscribe second"),
        RequestDescription("live/list", "List your live subscriptions with their counters.", page, example: "live list"),
        RequestDescription(
            "live/snapshot", "Show the live state now.", [criteria, condition, within] + longPage,
            example: "live snapshot criteria.domain=position --all"),
    ]

    // MARK: Beacons

    private static let beacons = [
        RequestDescription("beacon/list", "List registered beacons.", page, example: "beacon list"),
        RequestDescription(
            "beacon/monitor", "Report when devices begin and cease to see beacons.",
            [id, RequestField(uuid.name, uuid.takes, required: true, aliases: uuid.aliases), major, minor]
                + [
                    RequestField(
                        "devices", "1…1000 ids or groups of devices; default: yours and ownerless ones",
                        limits: .entries(1...1000))
                ],
            example: "beacon monitor id=gallery uuid=F7826DA6-4FA2-4E98-8024-BC5B71E0893E"),
        RequestDescription("beacon/unmonitor", "End a monitor.", [id], example: "beacon unmonitor id=gallery"),
    ]

    // MARK: Places

    private static let places = [
        RequestDescription(
            "place/import", "Import places.",
            [RequestField("places", "a GeoJSON FeatureCollection of at most 256 KiB", required: true)],
            example: "place import places:=\"$(cat places.geojson)\""),
        RequestDescription("place/get", "Show a place.", [id], example: "place get cafe-1"),
        RequestDescription(
            "place/list", "List places by area, category and chain.",
            [
                within, RequestField("categoryId", "with the categories below it"), RequestField("chainId", "the id of a chain"),
            ] + page, example: "place list categoryId=amenity=cafe limit=10"),
        RequestDescription("place/delete", "Delete a place.", [id, revision], example: "place delete cafe-1"),
        RequestDescription(
            "place/candidates", "Rank the places where a device or a position may be.",
            [
                RequestField("deviceId", "the id of a device with a known position, or:"),
                RequestField("latitude", "−90…90 degrees", limits: .numbers(-90...90)),
                RequestField("longitude", "−180…180 degrees", limits: .numbers(-180...180)),
                RequestField("horizontalAccuracy", "metres", limits: .atLeast(0)),
                RequestField("activities", "true or false: first what the device does; default false"),
            ], example: "place candidates latitude=43.7387 longitude=7.4273 horizontalAccuracy=15"),
        RequestDescription(
            "place/verify", "Confirm one of the candidates last given for a device.",
            [deviceID, RequestField("placeId", "the id of that place", required: true, limits: .id)],
            example: "place verify deviceId=phone placeId=cafe-1"),
        RequestDescription(
            "category/import", "Import categories.",
            [RequestField("categories", "[{\"id\",\"name\",\"parentId\"?}]", required: true)],
            example: "category import categories='[{\"id\":\"cafe\",\"name\":\"Café\"}]'"),
        RequestDescription("category/list", "List categories.", page, example: "category list"),
    ]

    // MARK: Circumstances

    private static let circumstances = [
        RequestDescription(
            "circumstance/register", "Register a circumstance, or replace it.",
            [
                id,
                RequestField("expression", "an S-expression: (and (at (= category-id \"cafe\")) (not (moving)))", required: true),
                RequestField(
                    "when", "arriving or departing; default: it is evaluated on request only",
                    limits: .words(["arriving", "departing"])),
                RequestField("name", "at most 256 characters", limits: .characters(0...256)),
                RequestField("tags", "at most 64 texts", limits: .entries(0...64)),
                RequestField(
                    "devices", "at most 1000 ids or groups; default: yours and ownerless ones", limits: .entries(0...1000)),
                RequestField("nearRadius", "10…5000 metres; default 250", limits: .numbers(10...5000)),
                RequestField("exitMargin", "0…1000 metres; default 10", limits: .numbers(0...1000)),
                pushers, notification,
                RequestField("debug", "true or false: a trace with each event; default false"), revision,
            ], example: "circumstance register id=coffee when=arriving expression='(at (= category-id \"amenity=cafe\"))'"),
        RequestDescription(
            "circumstance/enable", "Enable a circumstance.", [id, revision], example: "circumstance enable id=coffee"),
        RequestDescription(
            "circumstance/disable", "Disable a circumstance.", [id, revision], example: "circumstance disable id=coffee"),
        RequestDescription(
            "circumstance/unregister", "Delete a circumstance.", [id, revision], example: "circumstance unregister id=coffee"),
        RequestDescription("circumstance/list", "List your circumstances.", page, example: "circumstance list"),
        RequestDescription(
            "circumstance/evaluate", "Evaluate a circumstance for a device.",
            [id, deviceID, RequestField("debug", "true or false: with a trace; default false")],
            example: "circumstance evaluate id=coffee deviceId=phone debug=true"),
        RequestDescription(
            "circumstance/watch", "Stream the circumstances of all clients to the socket (administrators).", [],
            example: "circumstance watch"),
        RequestDescription(
            "circumstance/evaluateAll", "Evaluate those without `when` for a device.", [deviceID] + page,
            example: "circumstance evaluateAll deviceId=phone"),
    ]

    // MARK: Change feed

    private static let since = RequestField("since", "a place in the feed, from 0", limits: .atLeast(0))
    private static let store = RequestField(
        "storeId", "the feed that `since` belongs to: another one by now is a conflict", limits: .characters(1...128))

    private static let checkpointID = RequestField("id", "1 to 512 bytes", required: true, limits: .bytes(1...512))

    private static let changes = [
        RequestDescription(
            "changes/get", "Read the change feed.",
            [
                since, RequestField("limit", "1…1000 rows; default 1000", limits: .atLeast(1)), store,
                RequestField("leaves", "true or false: all leaves of each document; default false"),
                RequestField("content", "true or false: what the documents say; default true"),
                RequestField("counts", "true or false: how many documents there are; default false"),
            ],
            example: "changes get since=0 limit=10"),
        RequestDescription(
            "changes/follow", "Stream the change feed.", [since, lease, store], example: "changes follow since=0"),
        RequestDescription("changes/unfollow", "End the stream.", [], example: "changes unfollow"),
        RequestDescription(
            "changes/conflicts", "List the revisions of a document that lost.",
            [RequestField("type", "the type of the document", required: true), id] + page,
            example: "changes conflicts type=note id=1"),
        RequestDescription(
            "changes/push", "Push documents that were written offline.",
            [
                RequestField(
                    "docs", "at most 1000 documents {\"id\",\"type\",\"revision\",…}", required: true, limits: .entries(0...1000)),
                RequestField("histories", "for each document, the revisions it was made from, its parent first"),
                RequestField("edits", "true or false: only over the revision that is current, which is `parent`; default false"),
            ],
            example: "changes push docs='[{\"id\":\"1\",\"type\":\"note\",\"revision\":\"1-a\"}]'"),
        RequestDescription(
            "changes/documents", "Read documents with all their leaves.",
            [
                RequestField(
                    "docs", "at most 1000 of {\"type\",\"id\",\"revision\"?,\"revisions\"?}", required: true,
                    .list([
                        RequestField("type", "of the document", required: true), RequestField("id", "of it", required: true),
                        RequestField("revision", "the leaf that is wanted"),
                        RequestField("revisions", "of which those that are known are wanted"),
                    ]), limits: .entries(1...1000)),
                RequestField("content", "true or false: what each leaf says; default true"),
            ],
            example: "changes documents docs='[{\"type\":\"note\",\"id\":\"1\"}]'"),
        RequestDescription(
            "checkpoint/get", "Read how far a replication is.", [checkpointID], example: "checkpoint get id=phone"),
        RequestDescription(
            "checkpoint/put", "Remember how far a replication is.",
            [checkpointID, RequestField("value", "an object of at most 64 KiB", required: true)],
            example: "checkpoint put id=phone value='{\"last\":5}'"),
    ]

    // MARK: Push

    private static let push = [
        RequestDescription(
            "push/key", "Show the public key that browsers subscribe to Web Push with.", [], example: "push key"),
        RequestDescription(
            "push/test", "Send a test message to the tokens of a device, and show what the push services say.", [id],
            example: "push test phone"),
    ]

    // MARK: Several daemons

    private static let cluster = [
        RequestDescription(
            "cluster/status", "Show the nodes of the cluster, and which serves each dataset.", page, example: "cluster status")
    ]
}
