import Records

/// The documents of one push and what is known of them.
struct Push {
    private(set) var documents: [PushedDocument]
    /// What the store is asked, once for each document whatever is pushed of it.
    private(set) var lookups: [DocumentLookup] = []
    /// By the place of a lookup: which documents are about it, in the order sent.
    private(set) var parts: [[Int]] = []
    /// The same: the objects of a device come after it, whatever the order they were sent in.
    private(set) var makesDevice: [Bool] = []
    private(set) var known: [KnownDocument?] = []

    init(_ documents: [PushedDocument], in dataset: String) {
        self.documents = documents
        var places: [DocumentKey: Int] = [:]
        for (index, document) in documents.enumerated() {
            let place = places[document.key] ?? lookups.count
            if place == lookups.count {
                places[document.key] = place
                parts.append([])
                makesDevice.append(false)
                lookups.append(
                    DocumentLookup(dataset: dataset, type: document.key.type.text, id: document.key.id.text, revisions: []))
                lookups[place].wantsLinks = true
            }
            parts[place].append(index)
            lookups[place].revisions.append(document.revision.text)
            if !document.isDeleted, document.key.type.text == DocumentType.device.rawValue { makesDevice[place] = true }
        }
    }

    func key(at place: Int) -> DocumentKey { DocumentKey(type: lookups[place].type, id: lookups[place].id) }

    mutating func note(_ found: [KnownDocument?]) {
        known = found
        for (place, known) in known.enumerated() {
            for index in parts[place] where documents[index].isEdit { documents[index].decide(over: known?.history) }
        }
    }
}
