import Records

extension DurableChange {
    /// It follows from where devices are, what is asked for, and time: decided again where that changes.
    var isEvaluated: Bool {
        switch self {
        case .put(let record): record.kind.row.evaluated.contains(.put)
        case .delete(let key): key.kind.row.evaluated.contains(.deletion)
        case .amend(let amendment): type(of: amendment).isEvaluated
        default: false
        }
    }

    /// The dataset that this change creates.
    var createdDataset: String? {
        if case .put(let record as DatasetRecord) = self, Revision.generation(of: record.revision) == 1 { record.id } else { nil }
    }

    /// What it changes is not loaded again as a part of its dataset: memory knows it better, or it is too much.
    var isLoadedAlone: Bool { kind?.row.isReadAlone ?? false }
}
