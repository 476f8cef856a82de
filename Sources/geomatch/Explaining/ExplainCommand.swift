import ArgumentParser
import Wire

/// `geomatch explain PUBLICATION SUBSCRIPTION`: why a pair matches or not.
struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Say why a publication and a subscription match or not.",
        usage: "geomatch explain PUBLICATION SUBSCRIPTION",
        discussion: """
            One line for each rule of matching, with its figures, and last what comes of them. Nothing is changed. What expired or \
            was deleted within the last 24 hours is explained, too. Only the subscription's owner may ask.

            Ends with 0 when it could be explained, match or not: scripts read `.matches` of `--json`.

            Examples:
              geomatch explain espresso-at-the-door anns-phone
              geomatch --json explain p1 s1 | jq '.checks[] | select(.pass | not)'
            """)

    @OptionGroup(title: "Connection options")
    var connection: ConnectionOptions

    @OptionGroup
    var output: OutputOptions

    @Argument(help: "The id of the publication.")
    var publication: String

    @Argument(help: "The id of the subscription.")
    var subscription: String

    func run() async throws {
        let parameters: JSONObject = ["publicationId": .string(publication), "subscriptionId": .string(subscription)]
        let result = try await answer(try connection.configuration()) { client in
            try await client.result(of: "match/explain", parameters, asJSON: output.json)
        }
        if output.json { StandardOutput.print(json: result) } else { StandardOutput.print(ExplanationText.of(result)) }
    }
}
