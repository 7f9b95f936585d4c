import NotifyLog

/// The value of a name and object, without its content, or the mark of a cleared value.
struct ValueEntry: Equatable {
    /// See `ValueChange.number`.
    let number: UInt64
    let sequence: UInt64
    /// The user that has set or cleared the value.
    let uid: UInt32
    /// The size that is charged to the user, in bytes; 0 for a mark.
    private let chargedBytes: UInt32

    init(number: UInt64, sequence: UInt64, uid: UInt32, bytes: Int) {
        self.number = number
        self.sequence = sequence
        self.uid = uid
        chargedBytes = UInt32(clamping: bytes)
    }

    var bytes: Int { Int(chargedBytes) }
    var isCleared: Bool { chargedBytes == 0 }

    /// The usage that is charged to the user.
    var usage: ValueUsage { ValueUsage(uid: uid, values: isCleared ? 0 : 1, bytes: bytes) }
}

/// A user's number of values and their bytes, or a change of these.
struct ValueUsage: Equatable {
    var uid: UInt32
    var values: Int
    var bytes: Int

    static prefix func - (usage: ValueUsage) -> ValueUsage {
        ValueUsage(uid: usage.uid, values: -usage.values, bytes: -usage.bytes)
    }
}

/// The keys of a name and object, and of the name alone.
struct ValueName {
    let key: ValueKey
    /// The key of the name without an object; nil if the value has none, so that both are the same.
    let nameKey: ValueKey?

    init(key: ValueKey, nameKey: ValueKey?) {
        self.key = key
        self.nameKey = nameKey
    }

    init(name: UnsafeRawBufferPointer, object: UnsafeRawBufferPointer) {
        key = ValueKey(name: name, object: object)
        nameKey = object.isEmpty ? nil : ValueKey(name: name, object: UnsafeRawBufferPointer(start: nil, count: 0))
    }
}
