/// What people look up, on a page each: `geomatch help topics`.
enum CheatSheet: String, CaseIterable {
    case topics, selectors, expressions, errors

    /// The sheet that the arguments ask for; nil for none.
    static func asked(for arguments: [String]) -> String? {
        guard arguments.count == 2, arguments[0] == "help" else { return nil }
        return CheatSheet(rawValue: arguments[1])?.text
    }

    var text: String {
        switch self {
        case .topics:
            """
            What you publish and what you read; docs/live-data.md has the whole of it.

              DATASET/VENUE/BUILDING/FLOOR/ROOM/LOCATION/DOMAIN
                  a live update as a device has it; `-` where a level does not apply,
                  LOCATION is the device, DOMAIN position, occupancy, temperature, …
              live/DATASET/VENUE/BUILDING/FLOOR/ROOM/LOCATION/DOMAIN
                  the same, checked and normalised, retained
              geomatch/DATASET/CLIENT/request/RESOURCE/VERB
                  a request; geomatch/DATASET/CLIENT/reply has its reply
              geomatch/DATASET/CLIENT/match/DEVICE/SUBSCRIPTION
                  matches; …/geofence/ID, …/circumstance/ID, …/beacon/ID and
                  …/live/ID likewise
              geomatch/DATASET/diagnostics/#
                  why input was refused
              geomatch/status, geomatch/DATASET/status
                  health and counters, retained

            In a level `/ + # %` are written %2F %2B %23 %25.

              geomatch pub demo/-/-/-/-/phone/position '{"lat":43.73,"lon":7.42}'
              mosquitto_sub -v -t 'live/demo/#'
            """
        case .selectors:
            """
            A condition on properties, as in SQL; docs/matching.md has the whole of it.

              kind = 'espresso'            texts in single quotes, numbers bare
              "unit price" < 5             double quotes: a property's name
              price <= 5 AND NOT sold      = <> < <= > >=, AND OR NOT
              price BETWEEN 2 AND 5        also NOT BETWEEN
              kind IN ('tea', 'espresso')  also NOT IN
              name LIKE 'Caf_%'            _ is one character, % any run
              brand IS NOT NULL            IS NULL: the property is missing
              'vegan' = ANY (tags)         ANY, SOME, ALL over an array

            Unlike types compare false; what is missing makes a comparison unknown, and only
            TRUE matches.

              geomatch eval selector "price < 5" '{"price":3}'
            """
        case .expressions:
            """
            When a circumstance occurs; docs/places.md has the whole of it.

              (at (= category-id "cafe"))         at a place of this category
              (near (= chain-id "acme") is-open)  near one of this chain that is open
              (at (any-of place-id "a" "b"))      at one of these places
              (visited any-factual-place)         was at a place before
              (frequents (= place-id "gym") 3 7)  at least 3 times in 7 days
              (dwelling 600)                      here for ten minutes
              (moving)                            at least 1 m/s
              (live occupancy nrOfPeople > 10)    live data of the room
              (= local-day-of-week sat)           mon … sun, or 1 … 7
              (> local-minute-of-day 1080)        after 18:00
              (and (at any-factual-place) (not (moving)))

            Unknown, as without a position or opening hours, never fires.

              geomatch eval circumstance '(and (at (= category-id "cafe")) is-open)'
            """
        case .errors:
            """
            What a request may be refused with; docs/requests.md has the whole of it.

              invalid         400  malformed or out of limits; `field` names it
              unauthorized    401  this client may not do this at all
              forbidden       403  the object belongs to another client
              limit           403  a configured maximum is reached
              notFound        404  no such object, or no such request
              unknownDataset  404  no such dataset
              conflict        409  the id exists, or the revision is not the current one
              tooLarge        413  above 256 KiB
              unsupported     501  not offered here; the message says what is
              internal        500  the daemon's fault; it is in its log

            `geomatch` exits with 1 for these, 64 for wrong arguments, 69 without a broker or a
            daemon, 70 for a fault of its own, 78 for a wrong configuration.
            """
        }
    }
}
