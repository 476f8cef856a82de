import Wire
import Records

/// What became of each element of an import: `{"imported","replaced","refused":[{"id","error"}],"warnings":[…]}`.
///
/// A reply has a limit: of refusals and warnings so many are listed, and how many more there were.
struct ImportReport {
    var imported = 0
    var replaced = 0
    private var refused = BoundedList(bytesMax: 200 << 10)
    private var warnings = BoundedList(bytesMax: 40 << 10)

    /// - Parameters:
    ///   - id: nil where the element names none.
    ///   - element: Which one it is, named where it has no id.
    mutating func refuse(_ id: String?, _ error: WireError, element: Int?, called name: String = "feature") {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("id")
        if let id { writer.string(id) } else { writer.null() }
        writer.key("error")
        var error = error
        if id == nil, let element { error.message += " (\(name) \(element))" }
        error.encode(into: &writer)
        writer.endObject()
        refused.append(writer.bytes)
    }

    mutating func warn(_ text: String) {
        var writer = JSONWriter()
        writer.string(text)
        warnings.append(writer.bytes)
    }

    func encoded(_ name: String = "features") -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("imported", imported)
            writer.member("replaced", replaced)
            writer.key("refused")
            writer.beginArray()
            for object in refused.elements { writer.raw(object) }
            writer.endArray()
            writer.key("warnings")
            writer.beginArray()
            for text in warnings.elements { writer.raw(text) }
            if refused.leftOut > 0 { writer.string("\(refused.leftOut) more \(name) were refused") }
            if warnings.leftOut > 0 { writer.string("there were \(warnings.leftOut) more warnings") }
            writer.endArray()
        }
    }
}

/// The first so many bytes of a list of JSON values, and how many more there were.
private struct BoundedList {
    let bytesMax: Int
    private(set) var elements: [[UInt8]] = []
    private(set) var leftOut = 0
    private var bytes = 0

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    mutating func append(_ element: [UInt8]) {
        guard leftOut == 0, bytes + element.count < bytesMax else {
            leftOut += 1
            return
        }
        bytes += element.count + 1
        elements.append(element)
    }
}
