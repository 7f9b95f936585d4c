/// Identifies an open reader of the log. A later reader in the same slot has another generation.
package struct ReaderID: Hashable, Sendable {
    package let slot: Int32
    package let generation: UInt32

    package init(slot: Int32, generation: UInt32) {
        self.slot = slot
        self.generation = generation
    }
}
