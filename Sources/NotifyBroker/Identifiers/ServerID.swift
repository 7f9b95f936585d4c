import NotifyCenter

/// Identifies a server. A later server in the same slot has another generation.
struct ServerID: Hashable {
    let slot: Int32
    let generation: UInt32
}

extension ServerID: SlotID {
    var index: Int { Int(slot) }

    init(index: Int, generation: UInt32) {
        self.init(slot: Int32(index), generation: generation)
    }
}
