import NotifyCenter

/// Identifies an open reader of the log. A later reader in the same slot has another generation.
struct ReaderID: Hashable {
    let slot: Int32
    let generation: UInt32
}

extension ReaderID: SlotID {
    var index: Int { Int(slot) }

    init(index: Int, generation: UInt32) {
        self.init(slot: Int32(index), generation: generation)
    }
}
