import Datasets
import Wire

/// What the door offers, as an OpenAPI 3.1 document: requests are read off the table and the catalogue that check them.
enum OpenAPI {
    static func document(version: String) -> [UInt8] {
        var paths: [(String, JSONValue)] = []
        for row in RequestTable.rows where !row.isForSocket { paths.append(("/api/{dataset}/\(row.name)", path(of: row))) }
        paths += livePaths + phonePaths + streamPaths + couchPaths + plainPaths
        let document: JSONValue = [
            "openapi": "3.1.0",
            "info": [
                "title": "geomatch", "version": .string(version),
                "description": "Every request of geomatch over HTTP: the body holds its parameters, the answer is its reply.",
            ],
            "security": [["bearer": []], ["apiKey": []], ["basic": []], ["query": []], [:]],
            "paths": .object(JSONObject(paths)),
            "components": components,
        ]
        return document.serialised()
    }

    // MARK: Requests

    private static func path(of row: RequestRow) -> JSONValue {
        let description = row.description
        let (resource, id) = (description.map { String($0.resource) } ?? "", row.name.replacing("/", with: "-"))
        func operation(_ id: String, _ more: [(String, JSONValue)]) -> JSONValue {
            .object(
                JSONObject(
                    [
                        ("operationId", .string(id)), ("summary", .string(description?.abstract ?? row.name)),
                        ("tags", [.string(resource)]),
                    ] + more + [("responses", replies)]))
        }
        let fields = description?.fields ?? []
        var bodies = [("application/json", OpenAPISchema.body(of: fields, takesItems: row.takesItems))]
        if HTTPResponder.importParameter(of: row.name) != nil { bodies += HTTPResponder.fileTypes.map { ($0, text) } }
        let body: JSONValue = ["content": content(bodies)]
        var members: [(String, JSONValue)] = [("parameters", [ref("parameters/dataset")])]
        let requestBody = fields.contains { $0.isRequired } ? required(body) : body
        members.append(
            ("post", operation(id, [("parameters", [ref("parameters/idempotencyKey")]), ("requestBody", requestBody)])))
        if !row.changes {
            let parameters = fields.map(parameter)
            members.append(("get", operation("get-\(id)", [("parameters", .array(parameters))])))
        }
        return .object(JSONObject(members))
    }

    /// The same body where there must be one.
    private static func required(_ body: JSONValue) -> JSONValue {
        .object(JSONObject([("required", true)] + (body.asObject?.members ?? []).map { ($0.key, $0.value) }))
    }

    private static func parameter(_ field: RequestField) -> JSONValue {
        let type = ParameterType.of(field.name)
        var members: [(String, JSONValue)] = [
            ("name", .string(field.name)), ("in", "query"), ("required", .bool(field.isRequired)),
            ("description", .string(field.takes)),
        ]
        let schema = OpenAPISchema.schema(of: field, mayBeNull: false)
        switch type {
        case .object, .array, .any: members.append(("content", ["application/json": ["schema": schema]]))
        default: members.append(("schema", type == .textOrObject ? ["type": "string"] : schema))
        }
        return .object(JSONObject(members))
    }

    // MARK: The other paths

    private static func ref(_ name: String) -> JSONValue { ["$ref": .string("#/components/\(name)")] }

    private static func query(
        _ name: String, _ description: String, type: String = "string", required: Bool = false
    ) -> JSONValue {
        given("query", name, description, type: type, required: required)
    }

    private static func given(
        _ place: String, _ name: String, _ description: String, type: String = "string", required: Bool = false
    ) -> JSONValue {
        [
            "name": .string(name), "in": .string(place), "required": .bool(required), "description": .string(description),
            "schema": ["type": .string(type)],
        ]
    }

    private static func operation(
        _ id: String, _ summary: String, tag: String, parameters: [JSONValue] = [], body: [(String, JSONValue)] = [],
        ok: [(String, JSONValue)], isOpen: Bool = false
    ) -> JSONValue {
        var members: [(String, JSONValue)] = [
            ("operationId", .string(id)), ("summary", .string(summary)), ("tags", [.string(tag)]),
        ]
        if isOpen { members.append(("security", [])) }
        if !parameters.isEmpty { members.append(("parameters", .array(parameters))) }
        if !body.isEmpty { members.append(("requestBody", ["required": true, "content": content(body)])) }
        let success: JSONValue = ok.isEmpty ? ["description": "Done."] : ["description": "Done.", "content": content(ok)]
        members.append(("responses", ["200": success, "default": ref("responses/error")]))
        return .object(JSONObject(members))
    }

    private static func content(_ types: [(String, JSONValue)]) -> JSONValue {
        .object(JSONObject(types.map { ($0, ["schema": $1]) }))
    }

    private static let object: JSONValue = ["type": "object"]
    private static let text: JSONValue = ["type": "string"]

    private static var livePaths: [(String, JSONValue)] {
        let levels = ["venue", "building", "floor", "room", "location", "domain"]
        let parameters: [JSONValue] =
            [ref("parameters/dataset")]
            + levels.map { ["name": .string($0), "in": "path", "required": true, "schema": ["type": "string", "minLength": 1]] }
        let update = operation(
            "live-update", "Publish a live update.", tag: "live", body: [("application/json", object)],
            ok: [("application/json", ref("schemas/reply"))])
        let clear = operation("live-clear", "Clear a live state.", tag: "live", ok: [("application/json", ref("schemas/reply"))])
        let item: JSONValue = [
            "type": "object", "required": ["topic", "payload"],
            "properties": ["topic": text, "payload": ["type": ["object", "null"]]],
        ]
        let batch = operation(
            "live-updates", "Publish many live updates.", tag: "live",
            body: [("application/json", ["type": "array", "items": item]), ("application/x-ndjson", text)],
            ok: [("application/json", ref("schemas/reply"))])
        return [
            (
                "/api/{dataset}/live/" + levels.map { "{\($0)}" }.joined(separator: "/"),
                ["parameters": .array(parameters), "post": update, "delete": clear]
            ),
            ("/api/{dataset}/live", ["parameters": [ref("parameters/dataset")], "post": batch]),
        ]
    }

    private static var phonePaths: [(String, JSONValue)] {
        let dataset = query("dataset", "The dataset, where the key is not for one.")
        let json: [(String, JSONValue)] = [("application/json", object)]
        let names = [
            given("header", "X-Limit-U", "The user, where the message has no topic; default: the client."),
            given("header", "X-Limit-D", "The device, where the message has no topic."),
            query("u", "As X-Limit-U."), query("d", "As X-Limit-D."),
        ]
        return [
            (
                "/in/owntracks",
                [
                    "post": operation(
                        "in-owntracks", "OwnTracks' HTTP mode.", tag: "phones", parameters: [dataset] + names, body: json,
                        ok: [("application/json", ["type": "array"])])
                ]
            ),
            (
                "/in/overland",
                [
                    "post": operation(
                        "in-overland", "Overland's batches.", tag: "phones", parameters: [dataset], body: json,
                        ok: [("application/json", object)])
                ]
            ),
            (
                "/in/osmand",
                [
                    "get": operation(
                        "get-in-osmand", "The OsmAnd protocol of Traccar Client.", tag: "phones",
                        parameters: [
                            dataset, query("id", "The device.", required: true),
                            query("lat", "Degrees.", type: "number", required: true),
                            query("lon", "Degrees.", type: "number", required: true),
                            query("timestamp", "Seconds or milliseconds since 1970, or RFC 3339."),
                            query("speed", "Knots.", type: "number"), query("bearing", "Degrees.", type: "number"),
                            query("altitude", "Metres.", type: "number"), query("accuracy", "Metres.", type: "number"),
                            query("batt", "Percent.", type: "number"),
                        ], ok: []),
                    "post": operation(
                        "in-osmand", "The OsmAnd protocol of Traccar Client, as a form or JSON.", tag: "phones",
                        parameters: [dataset], body: [("application/x-www-form-urlencoded", object)] + json, ok: []),
                ]
            ),
        ]
    }

    private static var streamPaths: [(String, JSONValue)] {
        [
            (
                "/api/{dataset}/events",
                [
                    "parameters": [ref("parameters/dataset")],
                    "get": operation(
                        "events", "What the client hears of, as server-sent events.", tag: "streams",
                        parameters: [
                            query("topics", "MQTT filters below the client's tree, comma-separated."),
                            query("since", "A cursor, as Last-Event-ID has it."),
                            query("lastEventId", "The same, as libraries in place of EventSource send it."),
                        ], ok: [("text/event-stream", text)]),
                ]
            ),
            (
                "/api/{dataset}/socket",
                [
                    "parameters": [ref("parameters/dataset")],
                    "get": [
                        "operationId": "socket", "summary": "A WebSocket: requests in, replies and what the client hears of out.",
                        "tags": ["streams"], "parameters": [query("since", "A cursor.")],
                        "responses": ["101": ["description": "The socket is open."], "default": ref("responses/error")],
                    ],
                ]
            ),
            (
                "/mqtt",
                [
                    "get": [
                        "operationId": "mqtt", "summary": "A WebSocket with the subprotocol mqtt: bytes to and from the broker.",
                        "tags": ["streams"], "security": [],
                        "responses": ["101": ["description": "The socket is open."], "default": ref("responses/error")],
                    ]
                ]
            ),
        ]
    }

    private static var couchPaths: [(String, JSONValue)] {
        func parameter(_ name: String) -> JSONValue {
            ["name": .string(name), "in": "path", "required": true, "schema": ["type": "string", "minLength": 1]]
        }
        func path(_ rest: String, _ parameters: JSONValue..., operations: [(String, JSONValue)]) -> (String, JSONValue) {
            let members = [("parameters", .array([ref("parameters/dataset")] + parameters))] + operations
            return ("/couch/{dataset}\(rest)", .object(JSONObject(members)))
        }
        func answered(_ id: String, _ summary: String, _ queries: [JSONValue] = [], hasBody: Bool = false) -> JSONValue {
            couchOperation("couch-\(id)", summary, queries, hasBody: hasBody)
        }
        let feed = [
            query("since", "A place in the feed, or `now`."), query("limit", "Rows.", type: "integer"),
            query("style", "`all_docs` or `main_only`."), query("feed", "`normal`, `longpoll` or `continuous`."),
            query("heartbeat", "Milliseconds between line ends."), query("timeout", "Milliseconds.", type: "integer"),
            query("include_docs", "With the documents.", type: "boolean"), query("doc_ids", "A JSON array of ids."),
        ]
        let revisions = [
            query("rev", "The revision."), query("revs", "With what it was made from.", type: "boolean"),
            query("open_revs", "`all`, or a JSON array of revisions."),
            query("conflicts", "With those that lost.", type: "boolean"),
        ]
        return [
            ("/couch/", ["get": answered("server", "Say what this is.")]),
            path(
                "", operations: [("get", answered("get", "Show the database.")), ("put", answered("put", "Create the dataset."))]),
            path(
                "/_changes",
                operations: [
                    ("get", answered("changes", "Read the feed.", feed)),
                    ("post", answered("post-changes", "Read the feed of some documents.", feed, hasBody: true)),
                ]),
            path("/_revs_diff", operations: [("post", answered("revs-diff", "Say which revisions are missing.", hasBody: true))]),
            path("/_bulk_get", operations: [("post", answered("bulk-get", "Read many documents.", hasBody: true))]),
            path("/_bulk_docs", operations: [("post", answered("bulk-docs", "Write many documents.", hasBody: true))]),
            path("/_all_docs", operations: [("get", answered("all-docs", "List the documents."))]),
            path(
                "/_local/{id}", parameter("id"),
                operations: [
                    ("get", answered("local", "Read a checkpoint.")),
                    ("put", answered("put-local", "Write a checkpoint.", hasBody: true)),
                ]),
            path(
                "/{docid}", parameter("docid"),
                operations: [
                    ("get", answered("document", "Read a document, whose id is `type:id`.", revisions)),
                    ("put", answered("put-document", "Write a document.", hasBody: true)),
                    ("delete", answered("delete-document", "Delete a document.", [query("rev", "The revision that was read.")])),
                ]),
        ]
    }

    /// Answers and errors are CouchDB's.
    private static func couchOperation(_ id: String, _ summary: String, _ queries: [JSONValue], hasBody: Bool) -> JSONValue {
        let answer: JSONValue = ["description": "As CouchDB answers.", "content": content([("application/json", [:])])]
        var members: [(String, JSONValue)] = [
            ("operationId", .string(id)), ("summary", .string(summary)), ("tags", ["couchdb"]),
        ]
        if !queries.isEmpty { members.append(("parameters", .array(queries))) }
        if hasBody { members.append(("requestBody", ["required": true, "content": content([("application/json", object)])])) }
        members.append(("responses", ["2XX": answer, "default": ref("responses/couchError")]))
        return .object(JSONObject(members))
    }

    private static var plainPaths: [(String, JSONValue)] {
        [
            ("/healthz", "Whether the daemon's loop turns.", "application/json"),
            ("/readyz", "Whether the daemon is online.", "application/json"),
            ("/metrics", "Metrics for Prometheus.", "text/plain"), ("/openapi.json", "This document.", "application/json"),
        ].map { path, summary, type in
            let id = path.dropFirst().replacing(".", with: "-")
            let schema = type == "text/plain" ? text : object
            return (
                path, ["get": operation(String(id), summary, tag: "daemon", ok: [(type, schema)], isOpen: path != "/metrics")]
            )
        }
    }

    // MARK: Parts

    private static let replies: JSONValue = ["200": ref("responses/reply"), "default": ref("responses/error")]

    private static var components: JSONValue {
        [
            "securitySchemes": [
                "bearer": ["type": "http", "scheme": "bearer"], "basic": ["type": "http", "scheme": "basic"],
                "apiKey": ["type": "apiKey", "in": "header", "name": "api-key"],
                "query": ["type": "apiKey", "in": "query", "name": "key"],
            ],
            "parameters": [
                "dataset": [
                    "name": "dataset", "in": "path", "required": true, "description": "1 to 64 of A-Z a-z 0-9 . _ -",
                    "schema": ["type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$", "not": ["enum": ["live", "geomatch"]]],
                ],
                "idempotencyKey": [
                    "name": "Idempotency-Key", "in": "header", "required": false,
                    "description": "The requestId where the body has none: the first reply to it is given again.",
                    "schema": ["type": "string", "minLength": 1, "maxLength": 64],
                ],
            ],
            "responses": [
                "reply": ["description": "The reply.", "content": content([("application/json", ref("schemas/reply"))])],
                "error": ["description": "An error.", "content": content([("application/json", ref("schemas/failure"))])],
                "couchError": [
                    "description": "An error, as CouchDB names it.",
                    "content": content([
                        (
                            "application/json",
                            [
                                "type": "object", "required": ["error", "reason"],
                                "properties": ["error": text, "reason": text],
                            ]
                        )
                    ]),
                ],
            ],
            "schemas": schemas,
        ]
    }

    private static var schemas: JSONValue {
        [
            "reply": [
                "type": "object", "required": ["result"],
                "properties": ["requestId": text, "request": text, "result": ["type": "object"]],
            ],
            "failure": [
                "type": "object", "required": ["error"],
                "properties": ["requestId": text, "request": text, "error": ref("schemas/error")],
            ],
            "error": [
                "type": "object", "required": ["code", "error", "message"],
                "properties": [
                    "code": ["type": "integer"],
                    "error": ["type": "string", "enum": .array(ErrorCode.allCases.map { .string($0.rawValue) })],
                    "message": text, "field": text, "position": ["type": "integer"],
                ],
            ],
        ]
    }
}
