import Wire

/// What one live topic is to Home Assistant.
///
/// Each template keeps the state of before where the topic is cleared: that comes before the message that removes the component, and
/// would be an error in Home Assistant's log.
enum Component {
    /// The components of a domain, by name.
    static func all(of domain: String, topic: String) -> [(String, JSONObject)] {
        switch domain {
        case "position": [("position", tracker(topic))]
        case "presence": [("presence", presence(topic))]
        case "availability":
            [
                (
                    "availability",
                    [
                        "p": "binary_sensor", "name": "Availability", "state_topic": .string(topic),
                        "value_template": "{{ ('ON' if value_json.properties.available else 'OFF') if value_json is defined }}",
                    ]
                )
            ]
        case "occupancy": [("people", people(topic)), ("occupied", occupied(topic))]
        case "count": [("count", sensor(topic, "Count", "count", unit: "items", deviceClass: nil))]
        case "temperature": [("temperature", sensor(topic, "Temperature", "temperature", unit: "°C", deviceClass: "temperature"))]
        case "humidity": [("humidity", sensor(topic, "Humidity", "humidity", unit: "%", deviceClass: "humidity"))]
        case "co2": [("co2", sensor(topic, "Carbon dioxide", "co2", unit: "ppm", deviceClass: "carbon_dioxide"))]
        default: []
        }
    }

    /// Its state is Home Assistant's own zones.
    private static func tracker(_ topic: String) -> JSONObject {
        [
            "p": "device_tracker", "name": nil, "source_type": "gps", "json_attributes_topic": .string(topic),
            "json_attributes_template":
                "{{ ({'latitude':value_json.properties.latitude,'longitude':value_json.properties.longitude,'gps_accuracy':value_json.properties.horizontalAccuracy|default(0)} if value_json is defined else this.attributes)|tojson }}",
        ]
    }

    /// The geofence that a device is in.
    private static func presence(_ topic: String) -> JSONObject {
        [
            "p": "sensor", "name": "Place", "icon": "mdi:map-marker", "state_topic": .string(topic),
            "value_template": "{{ (value_json.properties.geofence or 'away') if value_json is defined else this.state }}",
        ]
    }

    private static func people(_ topic: String) -> JSONObject {
        var component = sensor(topic, "People", "nrOfPeople", unit: "people", deviceClass: nil)
        component["icon"] = "mdi:account-group"
        return component
    }

    private static func occupied(_ topic: String) -> JSONObject {
        [
            "p": "binary_sensor", "name": "Occupied", "device_class": "occupancy", "state_topic": .string(topic),
            "value_template": "{{ ('ON' if value_json.properties.nrOfPeople|int > 0 else 'OFF') if value_json is defined }}",
        ]
    }

    private static func sensor(
        _ topic: String, _ name: String, _ property: String, unit: String?, deviceClass: String?
    ) -> JSONObject {
        var component: JSONObject = [
            "p": "sensor", "name": .string(name), "state_class": "measurement", "state_topic": .string(topic),
            "value_template": .string("{{ value_json.properties.\(property) if value_json is defined }}"),
        ]
        if let unit { component["unit_of_measurement"] = .string(unit) }
        if let deviceClass { component["device_class"] = .string(deviceClass) }
        return component
    }

    /// Matches of a subscription; they are not retained, so that none is an event twice.
    static func event(_ source: Discovery.EventSource, _ topic: String) -> JSONObject {
        [
            "p": "event", "name": .string("Match \(source.subscription)"), "event_types": ["matched", "ended"],
            "state_topic": .string(topic),
            "value_template": "{{ dict(value_json, event_type=value_json.event)|tojson }}",
        ]
    }
}
