/// The object that a notification concerns: a text, a value, or an instance. Observers may register for one object.
///
/// Texts are equal if their bytes are equal, values if `==` returns true, and instances if they are identical. An
/// observation does not keep its instance alive. The observer of a released instance is never called again, even if a
/// new instance is allocated at the same address.
///
/// ```swift
/// let paid = try center.observe("orders.paid", object: "order-17") { print($0.name) }
/// let closed = try center.observe("windows.closed", object: NotificationObject(instance: window)) { print($0.name) }
/// ```
public struct NotificationObject: Sendable {
    let key: ObjectKey
    /// The instance, or the box of the value, according to the kind of `key`; nil for a text. Not an enumeration: every
    /// post copies an object, and copying an enumeration takes several times as long as copying plain fields.
    let reference: (any AnyObject & Sendable)?

    /// Creates an object that is equal to objects with the same text.
    public init(_ text: String) {
        key = ObjectKey(text: text)
        reference = nil
    }

    /// Creates an object that is equal to objects with an equal value.
    ///
    /// The value's `==` and `hash(into:)` must not use a center or a ``PostQueue``. A center compares the objects of
    /// values under its lock, and a queue compares those of pending notifications under its own lock,
    /// so such a use traps or deadlocks. Other code of the value, such as a deinitializer, may use centers and queues.
    public init(value: some Hashable & Sendable) {
        self.init(unsafeValue: value)
    }

    /// Creates an object that is equal only to objects of the same instance.
    @inlinable
    public init(instance: some AnyObject & Sendable) {
        self.init(anyInstance: instance)
    }

    @usableFromInline
    package init(anyInstance instance: any AnyObject & Sendable) {
        let address = UInt64(UInt(bitPattern: ObjectIdentifier(instance)))
        key = ObjectKey(.instance, hash: address &* 0x9E37_79B9_7F4A_7C15)
        reference = instance
    }

    /// Creates an object of a value whose type need not be `Sendable`.
    ///
    /// The value is copied, compared and, for diagnostics, described on the threads of posters and observers, and not
    /// accessed otherwise. Its `==`, `hash(into:)` and description must be safe to call on any thread.
    package init(unsafeValue value: some Hashable) {
        key = ObjectKey(.value, hash: UInt64(truncatingIfNeeded: value.hashValue))
        reference = HashableBox(value)
    }

    /// The text, the value, or the instance.
    package var anyContent: Any {
        if let box { return box.anyValue }
        if let instance { return instance }
        return key.text
    }

    /// The text, or nil for a value or an instance.
    public var text: String? { key.kind == .text ? key.text : nil }

    /// The instance, or nil for a text or a value.
    public var instance: (any AnyObject & Sendable)? { key.kind == .instance ? reference : nil }

    /// Returns the value, or nil if this is not a value of that type.
    public func value<Value: Hashable & Sendable>(as type: Value.Type = Value.self) -> Value? {
        (box as? HashableBox<Value>)?.value
    }

    var box: (any ObjectValue)? { key.kind == .value ? reference as? any ObjectValue : nil }
}

extension NotificationObject: ExpressibleByStringInterpolation {
    /// Creates an object that is equal to objects with the same text.
    public init(stringLiteral text: String) {
        self.init(text)
    }
}

extension NotificationObject: Hashable {
    /// Compares texts by their bytes, values by `==`, and instances by identity.
    public static func == (left: NotificationObject, right: NotificationObject) -> Bool {
        guard left.key.isSame(as: right.key) else { return false }
        guard let box = left.box, let other = right.box else { return left.reference === right.reference }
        return box.isEqual(to: other)
    }

    /// Hashes the object.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(key.hash)
    }
}

extension NotificationObject: CustomStringConvertible {
    /// A description for diagnostics.
    public var description: String {
        if let box { return box.description }
        return instance.map { "\(type(of: $0))@\(ObjectIdentifier($0))" } ?? key.text
    }
}

// MARK: - Keys

/// The key by which a center looks up an object. Equal objects have equal keys. Different values may have equal keys,
/// and so may an instance and an earlier instance at the same address. ``ObjectFilter`` distinguishes such objects. A
/// key holds no reference to an instance.
struct ObjectKey: Sendable {
    enum Kind: UInt64, Sendable {
        case text
        case value
        case instance
    }

    /// The hash. Its lower two bits are the kind: with a field for the kind, an optional ``NotificationObject`` would
    /// have five words, and Swift copies optional values of more than four words with metadata at run time.
    let hash: UInt64
    /// The text, or empty for a value or an instance.
    let text: String

    init(text: String) {
        var text = text
        text.makeContiguousUTF8()
        self.text = text
        hash = Self.hash(text.withUTF8Bytes { KeyedHash.ofProcess($0) }, of: .text)
    }

    init(_ kind: Kind, hash: UInt64) {
        self.hash = Self.hash(hash, of: kind)
        text = ""
    }

    private static func hash(_ hash: UInt64, of kind: Kind) -> UInt64 { hash & ~3 | kind.rawValue }

    var kind: Kind {
        switch hash & 3 {
        case Kind.text.rawValue: .text
        case Kind.value.rawValue: .value
        default: .instance
        }
    }

    @inline(__always)
    func isSame(as other: ObjectKey) -> Bool {
        hash == other.hash && text.hasSameBytes(as: other.text)
    }

    /// Calls the closure with the bytes that identify the object in the core. The bytes 0xFE and 0xFF do not occur in
    /// the UTF-8 of a text, so the three kinds never have equal bytes.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if kind == .text { return text.withUTF8Bytes(body) }
        let mark: UInt64 = kind == .value ? 0xFEFE_FEFE_FEFE_FEFE : 0xFFFF_FFFF_FFFF_FFFF
        var bytes = (mark, hash)
        return withUnsafeBytes(of: &bytes, body)
    }
}

/// The exact comparison with an observer's object, for objects whose keys do not suffice. Holds the value, or a weak
/// reference to the instance.
///
/// Not copyable, so that a post retains nothing of it but the instance. The reference counts of an instance that has
/// weak references are in a side table, where changing one takes several times as long.
struct ObjectFilter: ~Copyable, Sendable {
    private enum Kind {
        case none
        case value
        case instance
    }

    private let kind: Kind
    private let value: (any ObjectValue)?
    private weak let instance: (any AnyObject & Sendable)?

    /// Creates no filter for nil, and for a text, whose key is exact.
    init(_ object: NotificationObject?) {
        kind =
            switch object?.key.kind {
            case .text, nil: .none
            case .value: .value
            case .instance: .instance
            }
        value = object?.box
        instance = object?.instance
    }

    var isNone: Bool { kind == .none }

    /// Compares the observer's object with the object of a post whose key is equal. A new instance at the address of a
    /// released one differs, because the weak reference to the released instance is nil.
    ///
    /// - Returns: Whether the objects are equal.
    @inline(__always)
    func accepts(_ object: NotificationObject?) -> Bool {
        switch kind {
        case .none: return true
        case .value: return acceptsValue(object)
        case .instance:
            guard let instance else { return false }
            return object?.reference.map { ObjectIdentifier($0) } == ObjectIdentifier(instance)
        }
    }

    @inline(never)
    private func acceptsValue(_ object: NotificationObject?) -> Bool {
        guard let value, let other = object?.box else { return false }
        return value.isEqual(to: other)
    }

    var isReleased: Bool { kind == .instance && instance == nil }

    /// A description of the object; nil without a filter.
    var description: String? {
        switch kind {
        case .none: nil
        case .value: value?.description
        case .instance: instance.map { "\(type(of: $0))" } ?? "a released instance"
        }
    }
}

/// A value of any type, with type-erased equality.
protocol ObjectValue: AnyObject, Sendable, CustomStringConvertible {
    var anyValue: Any { get }

    func isEqual(to other: any ObjectValue) -> Bool
}

/// `@unchecked Sendable`: the value never changes, and is only copied, compared and described. All three are safe on
/// any thread: `init(value:)` requires a `Sendable` value, and `init(unsafeValue:)` requires this safety of its
/// callers.
private final class HashableBox<Value: Hashable>: ObjectValue, @unchecked Sendable {
    let value: Value

    var anyValue: Any { value }

    init(_ value: Value) {
        self.value = value
    }

    func isEqual(to other: any ObjectValue) -> Bool {
        (other as? HashableBox<Value>)?.value == value
    }

    var description: String { "\(value)" }
}
