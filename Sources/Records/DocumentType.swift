/// The types of document that are objects of ours: everything else is kept as it is, and never interpreted.
public enum DocumentType: String, Sendable, CaseIterable {
    case device, publication, subscription, place, category, circumstance, geofence
}
