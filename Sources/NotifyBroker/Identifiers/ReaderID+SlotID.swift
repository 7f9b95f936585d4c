import NotifyCenter
import NotifyLog

extension ReaderID: SlotID {
    var index: Int { Int(slot) }

    init(index: Int, generation: UInt32) {
        self.init(slot: Int32(index), generation: generation)
    }
}
