import Datasets
import MQTTLink
import SeededRandom
import Testing

@testable import geomatchd

@Suite("Access")
struct AccessRulesTests {
    private static let file = """
        admins: [admin, museum/boss]
        live: {readers: ["*"]}
        access:
          - users: [ann, guide-*]
            datasets: [museum, "hall-*"]
            read: all
          - users: bob
            read: none
            write: all
          - users: "g*"
            write: none
        """

    private func rules(_ file: String = Self.file) throws -> AccessRules { try read(file: file).accessRules }

    @Test("Without the key everybody may do everything")
    func without() throws {
        let rules = try rules("")
        #expect(rules.mayName(dataset: "d", client: "anybody"))
        #expect(rules.reads(dataset: "d", client: "anybody") == .all && rules.writes(dataset: "d", client: "anybody") == .all)
    }

    @Test("The first entry that names a client decides, with its defaults; one that none names may do nothing")
    func firstEntry() throws {
        let rules = try rules()
        for (client, dataset, may, reads, writes): (String, String, Bool, AccessRules.Reach, AccessRules.Reach) in [
            ("ann", "museum", true, .all, .own), ("ann", "hall-1", true, .all, .own), ("ann", "shop", false, .none, .none),
            ("guide-7", "museum", true, .all, .own), ("guide-7", "shop", false, .none, .none),
            ("bob", "anything", true, .none, .all), ("gerd", "shop", true, .own, .none), ("eve", "museum", false, .none, .none),
            ("admin", "shop", true, .all, .all), ("boss", "museum", true, .all, .all), ("boss", "shop", false, .none, .none),
        ] {
            #expect(rules.mayName(dataset: dataset, client: client) == may, "\(client) \(dataset)")
            #expect(rules.reads(dataset: dataset, client: client) == reads, "\(client) \(dataset)")
            #expect(rules.writes(dataset: dataset, client: client) == writes, "\(client) \(dataset)")
        }
    }

    @Test("An empty list allows nobody but administrators anything")
    func emptyList() throws {
        let rules = try rules("access: []")
        #expect(!rules.mayName(dataset: "d", client: "ann") && rules.mayName(dataset: "d", client: "admin"))
    }

    @Test("live.readers narrows what others than administrators may read, and nothing else")
    func readers() throws {
        let rules = try rules("live: {readers: [ann, museum/bob]}")
        #expect(rules.reads(dataset: "d", client: "ann") == .all)
        #expect(rules.reads(dataset: "museum", client: "bob") == .all && rules.reads(dataset: "d", client: "bob") == .none)
        #expect(rules.reads(dataset: "d", client: "eve") == .none && rules.writes(dataset: "d", client: "eve") == .all)
        #expect(rules.reads(dataset: "d", client: "admin") == .all)
    }

    @Test("What an access list grants is never more than the rules, and as much where no two patterns cross")
    func grants() throws {
        var random = SplitMix64.forTest()
        let names = ["a", "ab", "abc", "b", "ba"]
        let patterns = ["*", "a", "a*", "ab", "*b", "b*", "a*c"]
        func some(_ count: Int) -> [String] {
            (0..<Int.random(in: 1...count, using: &random)).map { _ in
                patterns[Int.random(in: 0..<patterns.count, using: &random)]
            }
        }
        func pairs(_ count: Int) -> [String] {
            some(count).map { Bool.random(using: &random) ? $0 : "\(some(1)[0])/\($0)" }
        }
        for _ in 0..<2000 {
            let entries = (0..<Int.random(in: 0...3, using: &random)).map { _ in
                AccessRules.Entry(
                    users: some(2), datasets: some(2), read: AccessRules.Reach.allCases.randomElement(using: &random) ?? .own,
                    write: AccessRules.Reach.allCases.randomElement(using: &random) ?? .own)
            }
            let (administrators, readers) = (pairs(2), pairs(3))
            let rules = AccessRules(
                entries: entries, administrators: AccessPatterns(administrators), liveReaders: AccessPatterns(readers))
            let crossing = (readers + entries.flatMap(\.datasets)).contains {
                $0.contains("*") && $0 != "*" && !$0.hasPrefix("*/")
            }
            for user in names {
                let grants = rules.grants(user: user, administrators: administrators, liveReaders: readers)
                for dataset in names {
                    let covering = grants.filter { AccessPatterns([$0.dataset]).allow(client: dataset, in: "") }
                    #expect(covering.isEmpty != rules.mayName(dataset: dataset, client: user))
                    let reads = most(covering.map(\.reads))
                    let allowed = rules.reads(dataset: dataset, client: user)
                    #expect(most([reads, allowed]) == allowed)
                    if !crossing { #expect(reads == allowed, "\(entries) \(readers) \(user) \(dataset)") }
                    #expect(most(covering.map(\.writes)) == rules.writes(dataset: dataset, client: user))
                }
            }
        }
    }

    private func most(_ reaches: [AccessRules.Reach]) -> AccessRules.Reach {
        [.all, .own].first(where: reaches.contains) ?? .none
    }

    @Test(
        "A wrong entry is refused with its place, what was read and what is allowed",
        arguments: [
            ("access: all", "access: `all` was read, allowed is a list"),
            ("access: [ann]", "access[0]: `ann` was read, allowed is a list"),
            ("access: [{users: ann, read: some}]", "access[0].read: `some` was read, allowed is all, own or none"),
            ("access: [{read: all}]", "access[0].users: is missing"),
            ("access: [{users: ann}, {users: bob, reads: all}]", "access[1].reads: there is no such key"),
            ("access: [{users: a/b}]", "access[0].users: `a/b` was read"),
            ("access: [{users: []}]", "access[0].users"), ("access: [{users: {a: b}}]", "access[0].users: is a plain value"),
        ])
    func wrong(_ file: String, _ text: String) throws {
        let error = try #require(refusal(file: file)).description
        #expect(error.contains(text), "\(error)")
    }

    @Test("What is printed reads back as the same")
    func printed() throws {
        let settings = try read(file: Self.file)
        #expect(try read(file: settings.text).access == settings.access && settings.access?.count == 3)
        #expect(try read(file: try read(file: "access: []").text).access == [])
        #expect(try read(file: try read(file: "").text).access == nil)
    }

    @Test("The list for a broker of one's own names each user of the file, and the daemon's own login")
    func printedList() throws {
        let hash = "$7$101$c2FsdA==$aGFzaA=="
        let files = [
            "f.yaml": Self.file + "\ndatasets: [museum, hall-1]\n", "users": "ann:\(hash)\neve:\(hash)\ndaemon:\(hash)\n",
        ]
        let printed = try geomatchd(
            ["--print-acl", "--config", "f.yaml", "--users", "users", "--broker", "mqtt://daemon:secret@h"], files: files)
        #expect(printed.code == 0 && printed.error.isEmpty, "\(printed)")
        for line in [
            "user daemon\ntopic readwrite #", "user ann", "topic read live/hall-1/#", "topic write museum/+/+/+/+/ann/+",
            "user eve",
        ] { #expect(printed.out.contains(line + "\n"), "\(printed.out)") }
        #expect(!printed.out.contains("secret") && !printed.out.contains("hall-*"))
        let without = try geomatchd(["--print-acl", "--config", "f.yaml"], files: files)
        #expect(without.code == 78 && without.error.contains("--users"))
        let plain = try geomatchd(["--print-acl"])
        #expect(plain.code == 0 && plain.out == AccessList(daemon: "geomatchd").text())
    }
}
