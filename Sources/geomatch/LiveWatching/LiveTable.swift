import LiveTopics

/// Live state as a table that fits a window: the levels in which topics differ, how old each is, and its properties.
struct LiveTable {
    var columns: Int
    var rows: Int
    var hasColours: Bool

    /// What is around the rows.
    struct Frame {
        /// What is watched.
        var title: String
        /// How it goes; below the rows.
        var note: String
    }

    /// Lines around the rows: title, head and note.
    private static let frameLines = 3
    private static let levelColumnsMax = 30
    private static let ageColumns = 5
    /// How long a row that changed stands out, milliseconds.
    private static let freshMilliseconds: Int64 = 1500

    /// - Parameter all: In any order.
    /// - Returns: At most ``rows`` lines of at most ``columns`` columns.
    func lines(_ all: some Collection<LiveRows.Row>, _ frame: Frame, now: Int64) -> [String] {
        let shown = chosen(all)
        let levels = differing(shown)
        let widths = levels.map { level in
            min(Self.levelColumnsMax, max(name(level).utf8.count, shown.map { DisplayWidth.of(cell($0, level)) }.max() ?? 0))
        }
        var title = frame.title
        let common = commonLevels(shown, without: levels)
        if !common.isEmpty { title += "   " + common }
        var lines = [styled(title, "1")]
        lines.append(styled(line(zip(levels, widths).map { DisplayWidth.fit(name($0), $1) }, "age", "properties"), "7"))
        for row in shown {
            let cells = zip(levels, widths).map { DisplayWidth.fit(cell(row, $0), $1) }
            let text = line(cells, Self.age(now - row.timestamp), row.text)
            lines.append(styled(text, now - row.seenAt < Self.freshMilliseconds ? "1" : nil))
        }
        let hidden = all.count - shown.count
        lines.append(styled((hidden > 0 ? "… and \(hidden) more, changed longer ago   " : "") + frame.note, "2"))
        return Array(lines.prefix(rows))
    }

    /// Those that changed last where not all fit, in the order of their topics.
    private func chosen(_ all: some Collection<LiveRows.Row>) -> [LiveRows.Row] {
        let room = max(0, rows - Self.frameLines)
        var chosen = Array(all)
        if chosen.count > room {
            chosen.sort { $0.seenAt != $1.seenAt ? $0.seenAt > $1.seenAt : $0.levels < $1.levels }
            chosen.removeLast(chosen.count - room)
        }
        return chosen.sorted { $0.levels < $1.levels }
    }

    /// The levels to show: those in which the rows differ; all where nothing does.
    private func differing(_ rows: [LiveRows.Row]) -> [Int] {
        guard let first = rows.first, rows.count > 1 else { return Array(LiveTopic.levelNames.indices) }
        return LiveTopic.levelNames.indices.filter { level in
            rows.contains { !cell($0, level).utf8.elementsEqual(cell(first, level).utf8) }
        }
    }

    private func commonLevels(_ rows: [LiveRows.Row], without levels: [Int]) -> String {
        guard let first = rows.first else { return "" }
        return LiveTopic.levelNames.indices.filter { !levels.contains($0) && cell(first, $0) != LiveTopic.notApplicable }
            .map { "\(name($0)) \(cell(first, $0))" }.joined(separator: ", ")
    }

    private func name(_ level: Int) -> String { LiveTopic.levelNames[level] }

    private func cell(_ row: LiveRows.Row, _ level: Int) -> String {
        guard level < row.levels.count else { return "" }
        return PlainText.printable(LevelCoding.decode(row.levels[level].utf8) ?? row.levels[level])
    }

    private func line(_ cells: [String], _ age: String, _ properties: String) -> String {
        (cells + [DisplayWidth.fit(age, Self.ageColumns, alignsRight: true), properties]).joined(separator: "  ")
    }

    /// Cut or filled to the window, with the attributes of SGR around it.
    private func styled(_ text: String, _ attributes: String?) -> String {
        let fitting = DisplayWidth.fit(text, columns)
        guard hasColours, let attributes else { return fitting }
        return "\u{1B}[\(attributes)m\(fitting)\u{1B}[0m"
    }

    /// `12s`, `3m`, `2h`, `5d`.
    static func age(_ milliseconds: Int64) -> String {
        let seconds = max(0, milliseconds / 1000)
        return switch seconds {
        case ..<100: "\(seconds)s"
        case ..<6000: "\(seconds / 60)m"
        case ..<172_800: "\(seconds / 3600)h"
        default: "\(min(seconds / 86_400, 9999))d"
        }
    }
}

extension [String] {
    /// By the bytes, level by level.
    fileprivate static func < (left: [String], right: [String]) -> Bool {
        left.lexicographicallyPrecedes(right) { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
}
