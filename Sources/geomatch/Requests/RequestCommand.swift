import ArgumentParser
import Foundation
import GeomatchClient
import Wire

/// `geomatch RESOURCE VERB …`: any request, and its reply.
struct RequestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "request",
        abstract: "Send a request and print its reply. The word `request` may be left out.",
        usage: "geomatch [request] RESOURCE VERB [key=value ... | JSON | -]",
        discussion: """
            Parameters are key=value words or one JSON object; `-` reads the object from standard input.

              key=value   the value is JSON where it is JSON (5, true, [1,2], "5"),
                          else text
              key:=JSON   the value is JSON for every key: name:=null removes a name
              a.b=value   an object: {"a":{"b":value}}
              ID          first, where a request is about one thing: id=ID
                          (or deviceId=ID, criteria=ID where it needs that alone);
                          a second one is deviceId=ID where it needs both

            What is text by its nature is always text, so that id=123 is the id "123": \
            \(RequestWords.textParameters.joined(separator: ", ")) and criteria.*.

            duration, matchTTL, lease and expiresIn are seconds, or take a unit: 90s, 15min, 1h, 7d; range, radius, exitMargin and \
            nearRadius are metres, or 500m, 2km. deviceType is also understood as \
            mobile, pin or beacon.

            An own requestId=… makes repeating a request harmless; without one a new id is made.

            Examples:
              geomatch device create deviceType=MobileDevice id=123 group='["staff"]'
              geomatch publication create deviceId=123 topic=coffee range=50 \\
                  duration=3600 properties.price=2.5
              geomatch subscription create deviceId=door topic=coffee range=50 \\
                  duration=600 selector='price < 3'
              geomatch device get door
              geomatch match list '{"deviceId":"door"}'
              geomatch --json device list --all | jq '.devices[].id'
              geomatch live snapshot criteria='default/hq/#' where='nrOfPeople > 0'
              geomatch live snapshot criteria.domain=position --all \\
                  within:='{"bbox":[7.4,43.7,7.5,43.8]}'
              geomatch live subscribe criteria.floor=2 id=second minInterval=1000

            A live subscription's messages come on the topic in its reply; `geomatch watch live` makes one of its own and shows them.
            """)

    @OptionGroup(title: "Connection options")
    var connection: ConnectionOptions

    @OptionGroup
    var output: OutputOptions

    @Flag(help: "With list and snapshot: all pages, as one result.")
    var all = false

    @Argument(help: "What it is about: device, publication, subscription, match, live, dataset, …")
    var resource: String

    @Argument(help: "What to do: create, get, list, update, delete, …")
    var verb: String

    @Argument(help: ArgumentHelp("key=value words, or one JSON object.", valueName: "parameters"))
    var parameters: [String] = []

    func validate() throws {
        guard !all || ["list", "snapshot"].contains(verb) else {
            throw ValidationError("--all is for list and snapshot: \(verb) has no pages")
        }
    }

    func run() async throws {
        var parameters = try readParameters()
        // A topic says its dataset itself.
        let configuration = try connection.configuration(
            criteria: resource == "live" ? parameters["criteria"]?.asString : nil)
        for word in [resource, verb] where !ConnectionOptions.isLevel(word) {
            throw CommandFailure.usage("\"\(PlainText.printable(word))\" is not a resource or verb: not empty, no / + #")
        }
        let isRepeatable = parameters["requestId"] == nil || parameters["requestId"]?.asString != nil
        let id = parameters["requestId"]?.asString ?? "cli-" + UUID().uuidString.lowercased()
        if isRepeatable { parameters["requestId"] = .string(id) }
        let (name, asked) = ("\(resource)/\(verb)", parameters)
        let pages = try await answer(configuration) { client in
            do {
                return try await client.pages(of: name, asked, all: all, asJSON: output.json)
            } catch let error as GeomatchError where error.kind == .timeout && client.connectionState == .connected {
                var failure = CommandFailure(error, isConnected: true)
                failure.message += "\nIt may still be carried out: repeat it with requestId=\(id) to have it done only once."
                throw failure
            }
        }
        let result = all ? pages.merged : pages.last
        for hint in result.member("hints")?.asArray ?? [] { StandardError.note("hint: \(PlainText.of(hint))") }
        if output.json { return StandardOutput.print(json: result) }
        guard let findings = PushFindings(result, of: name) else { return StandardOutput.print(PrettyJSON.text(result)) }
        StandardOutput.print(findings.text)
        if !findings.isAccepted { throw ExitCode(1) }
    }

    private func readParameters() throws -> JSONObject {
        guard parameters == ["-"] else { return try RequestWords.parameters(parameters, of: "\(resource)/\(verb)") }
        let text = try FileHandle.standardInput.readToEnd() ?? Data()
        return try RequestWords.object(of: Array(text))
    }
}
