/// A change of a value that a batch makes. The message with this sequence is in the batch: it is the value, or it says
/// that the value is cleared.
package struct ValueChange: Equatable, Sendable {
    package var sequence: UInt64
    /// The number of the value's name and object. Ascends with the first values of new names and objects, and is not
    /// used again.
    package var number: UInt64
    /// Whether the message clears the value.
    package var isCleared: Bool

    package init(sequence: UInt64, number: UInt64, isCleared: Bool) {
        self.sequence = sequence
        self.number = number
        self.isCleared = isCleared
    }
}

/// A value in the log, or the mark of a cleared one, without its content.
package struct StoredValue: Equatable, Sendable {
    /// The key of the name and object.
    package var key: ValueKey
    /// The key of the name without an object; nil if the value has none, so that both are the same.
    package var nameKey: ValueKey?
    /// See ``ValueChange/number``.
    package var number: UInt64
    package var sequence: UInt64
    /// The user that has set or cleared the value.
    package var uid: UInt32
    /// The size that is charged to this user, in bytes. See ``bytes(name:object:headers:payload:)``.
    package var bytes: Int
    /// Whether this is the mark of a cleared value.
    package var isCleared: Bool
    /// The time of the message, in microseconds since 1970.
    package var timeMicroseconds: UInt64

    package init(
        key: ValueKey, nameKey: ValueKey?, number: UInt64, sequence: UInt64, uid: UInt32, bytes: Int, isCleared: Bool,
        timeMicroseconds: UInt64
    ) {
        self.key = key
        self.nameKey = nameKey
        self.number = number
        self.sequence = sequence
        self.uid = uid
        self.bytes = bytes
        self.isCleared = isCleared
        self.timeMicroseconds = timeMicroseconds
    }

    /// The bytes that a value counts for: the sizes of its parts, and of its row and index entry.
    package static func bytes(name: Int, object: Int, headers: Int, payload: Int) -> Int {
        128 + name + object + headers + payload
    }
}

/// The values that a log contains when it is opened.
package struct StoredValues: Sendable {
    /// In ascending order of number.
    package var values: [StoredValue] = []
    /// The highest number in use; 0 if there is none.
    package var lastNumber: UInt64 = 0
    /// The highest sequence of a forgotten mark of a cleared value: which values were cleared up to it is unknown.
    package var forgottenThrough: UInt64 = 0

    package init() {}
}
