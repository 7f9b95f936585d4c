import NotifyLog

/// A state of the value of a name and object, without its content, or the mark of a cleared value.
struct ValueEntry: Equatable {
    let sequence: UInt64
    /// The user that has set or cleared the value.
    let uid: UInt32
    /// The size that is charged to the user, in bytes; 0 for a mark.
    private let chargedBytes: UInt32

    init(sequence: UInt64, uid: UInt32, bytes: Int) {
        self.sequence = sequence
        self.uid = uid
        chargedBytes = UInt32(clamping: bytes)
    }

    var bytes: Int { Int(chargedBytes) }
    var isCleared: Bool { chargedBytes == 0 }
    /// The number of values that are charged to the user.
    var count: Int { isCleared ? 0 : 1 }
}

/// The present value of a name and object before and after a change.
struct ValueReplacement: Equatable {
    let old: ValueEntry?
    let new: ValueEntry?

    var addedBytes: Int { (new?.bytes ?? 0) - (old?.bytes ?? 0) }
}

/// A name and object, and their key. Valid as long as the bytes of both.
struct ValueName {
    let name: UnsafeRawBufferPointer
    let object: UnsafeRawBufferPointer
    let key: ValueKey

    init(name: UnsafeRawBufferPointer, object: UnsafeRawBufferPointer) {
        self.name = name
        self.object = object
        key = ValueKey(name: name, object: object)
    }

    /// The key of the name without the object; nil if there is no object, so that both are the same. Computed.
    var nameKey: ValueKey? {
        object.isEmpty ? nil : ValueKey(name: name, object: UnsafeRawBufferPointer(start: nil, count: 0))
    }
}
